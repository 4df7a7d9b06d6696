#include "command/list_operators.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "frontend/operator_list.h"

namespace onnxc {
namespace {

std::string as_text(const std::vector<ListedOperator>& list) {
  std::string text = fmt::format("{:24} {:28} {:13} {}\n", "domain", "operator", "form", "versions");
  for (const ListedOperator& each : list) {
    std::string versions = fmt::format("{}", fmt::join(each.versions, ", "));
    if (!each.missing_versions.empty()) versions += fmt::format(" (not {})", fmt::join(each.missing_versions, ", "));
    text += fmt::format("{:24} {:28} {:13} {}\n", each.domain.empty() ? "ai.onnx" : each.domain, each.name,
                        each.form.empty() ? "-" : each.form, versions);
  }
  return text;
}

std::string as_json(const std::vector<ListedOperator>& list) {
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const ListedOperator& each : list)
    operators.push_back({{"domain", each.domain},
                         {"name", each.name},
                         {"form", each.form},
                         {"versions", each.versions},
                         {"missing_versions", each.missing_versions}});
  return nlohmann::ordered_json{{"format", "onnxc-operators"}, {"version", 1}, {"operators", operators}}.dump(2) + "\n";
}

}  // namespace

void print_operators(bool json, const MessageSink& messages) {
  const std::vector<ListedOperator> list = list_operators();
  messages(MessageKind::output, json ? as_json(list) : as_text(list));
}

}  // namespace onnxc
