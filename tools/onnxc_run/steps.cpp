#include "onnxc_run/steps.h"

#include <fmt/format.h>

#include <string_view>

#include "support/text.h"

namespace onnxc {
namespace {

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    size_t end = text.find('\n');
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (end != std::string_view::npos && text.empty()) result.emplace_back();
  }
  return result;
}

}  // namespace

std::vector<std::string> step_nodes(const onnxc_step_info& step) {
  std::vector<std::string> names = lines(step.nodes), operators = lines(step.operators);
  std::vector<std::string> result;
  for (size_t i = 0; i < operators.size(); ++i) {
    bool named = i < names.size() && !names[i].empty();
    result.push_back(named ? fmt::format("{} ({})", names[i], operators[i]) : operators[i]);
  }
  return result;
}

std::string step_title(const onnxc_step_info& step) {
  std::vector<std::string> nodes = step_nodes(step);
  return printable(nodes.empty() ? step.name : fmt::format("{}", fmt::join(nodes, " + ")));
}

}  // namespace onnxc
