// A report as one HTML file that needs nothing else: no network, no other file.
//
// Its data is JSON inside of the page; a small script (page_parts.h) makes elements of it and gives them text, never
// markup. So a name from the model stays text, whatever stands in it.
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
    std::vector<std::string> lines;   // below it: shapes, source
    std::vector<size_t> inputs = {};  // nodes before it
  };

  // The bounds of work: both measured on the machine.
  struct Roofs {
    double gflops, gigabytes;  // a second
  };
  struct RooflinePoint {
    std::string label;
    std::string group;       // has a colour of its own
    double intensity, rate;  // operations a byte, 1e9 operations a second; both above 0
    double weight;           // how large it is drawn beside the others
  };

  explicit Page(std::string title) : title_(std::move(title)) {}

  void add_facts(std::string title, const std::vector<std::pair<std::string, std::string>>& facts);
  // Cells are texts, numbers or null. `note` stands below the title.
  void add_table(std::string title, std::string note, const std::vector<Column>& columns, std::vector<Json> rows);
  // A value for each step, such as bytes in use.
  void add_chart(std::string title, std::string note, const std::vector<std::string>& labels,
                 const std::vector<double>& values, std::string unit);
  // Points on logarithmic axes under the two roofs; the heaviest bear the first word of their label.
  void add_roofline(std::string title, std::string note, const Roofs& roofs, const std::vector<RooflinePoint>& points);
  void add_graph(std::string title, std::string note, const std::vector<GraphNode>& nodes);

  std::string text() const;

 private:
  void add(std::string kind, std::string title, std::string note, Json content);

  std::string title_;
  Json sections_ = Json::array();
};

}  // namespace onnxc
