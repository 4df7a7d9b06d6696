#include "report/page/page.h"

#include <fmt/format.h>

#include <string_view>

#include "report/page/page_parts.h"
#include "support/text.h"

namespace onnxc {
namespace {

// JSON that may stand in a <script>: nothing in it can end the element or begin a comment, since no '<' is left.
std::string json_for_script(const Page::Json& json) {
  std::string result;
  for (const char character : json.dump(-1, ' ', true, Page::Json::error_handler_t::replace)) {
    if (character == '<')
      result += "\\u003c";
    else
      result += character;
  }
  return result;
}

// Between tags.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    switch (character) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

}  // namespace

void Page::add(std::string kind, std::string title, std::string note, Json content) {
  sections_.push_back(
      {{"kind", std::move(kind)}, {"title", std::move(title)}, {"note", std::move(note)}, {"content", content}});
}

void Page::add_facts(std::string title, const std::vector<std::pair<std::string, std::string>>& facts) {
  Json rows = Json::array();
  for (const auto& [name, value] : facts) rows.push_back(Json::array({name, value}));
  add("facts", std::move(title), "", std::move(rows));
}

void Page::add_table(std::string title, std::string note, const std::vector<Column>& columns, std::vector<Json> rows) {
  Json heads = Json::array();
  for (const Column& column : columns)
    heads.push_back(
        {{"name", column.name}, {"number", column.is_number}, {"bar", column.has_bar}, {"decimals", column.decimals}});
  add("table", std::move(title), std::move(note), {{"columns", heads}, {"rows", std::move(rows)}});
}

void Page::add_chart(std::string title, std::string note, const std::vector<std::string>& labels,
                     const std::vector<double>& values, std::string unit) {
  add("chart", std::move(title), std::move(note), {{"labels", labels}, {"values", values}, {"unit", std::move(unit)}});
}

void Page::add_roofline(std::string title, std::string note, const Roofs& roofs,
                        const std::vector<RooflinePoint>& points) {
  Json content = {{"gflops", roofs.gflops}, {"gigabytes", roofs.gigabytes}, {"points", Json::array()}};
  for (const RooflinePoint& point : points)
    content["points"].push_back({{"label", point.label},
                                 {"group", point.group},
                                 {"intensity", point.intensity},
                                 {"rate", point.rate},
                                 {"weight", point.weight}});
  add("roofline", std::move(title), std::move(note), std::move(content));
}

void Page::add_graph(std::string title, std::string note, const std::vector<GraphNode>& nodes) {
  Json content = Json::array();
  for (const GraphNode& node : nodes)
    content.push_back({{"title", node.title}, {"lines", node.lines}, {"inputs", node.inputs}});
  add("graph", std::move(title), std::move(note), std::move(content));
}

std::string Page::text() const {
  const std::string title = escaped(printable(title_));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<main></main>\n"
      "<script type=\"application/json\" id=\"sections\">{2}</script>\n<script>{3}</script>\n</body>\n</html>\n",
      title, page_style, json_for_script(sections_), page_script);
}

}  // namespace onnxc
