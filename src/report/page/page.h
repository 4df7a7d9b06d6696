// A report as one HTML file that needs nothing else: no network, no other file.
//
// What it shows is JSON inside of the page; a small script (page_parts.h) makes elements of it and gives them text,
// never markup. So a name from the model stays text, whatever stands in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace onnxc {

class Page {
 public:
  using Json = nlohmann::ordered_json;
  struct Column {
    std::string name;
    bool is_number = false;
    bool has_bar = false;  // numbers: how long beside the largest of the column
    int decimals = 0;
  };
  // A node of a graph or a step of a program, in order.
  struct GraphNode {
    std::string title;                // "Conv 'down.conv'"
    std::vector<std::string> lines;   // below it: shapes, where it comes from
    std::vector<size_t> inputs = {};  // nodes before it
  };

  explicit Page(std::string title) : title_(std::move(title)) {}

  void add_facts(std::string title, const std::vector<std::pair<std::string, std::string>>& facts);
  // Cells are texts, numbers or null. `note` stands below the title.
  void add_table(std::string title, std::string note, const std::vector<Column>& columns, std::vector<Json> rows);
  // A value for each step, such as bytes in use.
  void add_chart(std::string title, std::string note, const std::vector<std::string>& labels,
                 const std::vector<double>& values, std::string unit);
  void add_graph(std::string title, std::string note, const std::vector<GraphNode>& nodes);

  std::string text() const;

 private:
  void add(std::string kind, std::string title, std::string note, Json content);

  std::string title_;
  Json sections_ = Json::array();
};

}  // namespace onnxc
