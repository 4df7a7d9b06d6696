#include "report/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "ops/op.h"
#include "report/size_lines.h"
#include "support/count_text.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::string baked(const std::string& demand, const std::string& reason) {
  return fmt::format(
      "a size is baked into the model: {} ({}). Export it with dynamic shapes, or give the inputs' dims their values "
      "with --dim",
      printable(demand), printable(reason));
}

std::string of_rule(const SizeLine& line) {
  const bool is_one = line.symbols.find(',') == std::string::npos;
  return baked(fmt::format("{} must be {}, and the file declares {} free", line.symbols, line.first->legal,
                           is_one ? "it" : "them"),
               line.first->reasons.front());
}

std::string of_guard(const Guard& guard) {
  const auto& [fixed, free] =
      guard.left.constant() ? std::tie(guard.left, guard.right) : std::tie(guard.right, guard.left);
  return baked(fmt::format("{} must be {}", short_text(free), short_text(fixed)), guard.reason);
}

// Equal to 0 are the rules that sizes must be multiples, or equal to each other.
bool fixes_a_size(const Guard& guard) {
  return guard.kind == Guard::Kind::equal && guard.condition.is_constant(1) && !guard.left.is_constant(0) &&
         !guard.right.is_constant(0) && guard.left.constant().has_value() != guard.right.constant().has_value();
}

// "32"; other legal sizes are "16*n", "D" or "at least 3".
bool is_number(const std::string& legal) { return legal.find_first_not_of("0123456789") == std::string::npos; }

}  // namespace

std::vector<std::string> listed_warnings(std::vector<std::string> warnings) {
  if (warnings.size() <= most_listed) return warnings;
  const size_t others = warnings.size() - most_listed;
  warnings.resize(most_listed);
  warnings.push_back(fmt::format("and {} like these", counted(others, "more warning")));
  return warnings;
}

std::vector<std::string> empty_windows(const Graph& graph) {
  const auto is_empty = [](const Expr& dim) { return dim.is_constant(0); };
  std::vector<std::string> warnings;
  for (const auto& node : graph.nodes()) {
    const bool has_window = std::ranges::any_of(std::array{"Conv", "MaxPool", "AveragePool", "LpPool"},
                                                [&](const char* name) { return is_operator(node.get(), name); });
    if (!has_window || node->inputs.empty() || node->outputs.empty() || node->outputs[0] == nullptr) continue;
    const Shape &input = *node->inputs[0]->shape, &output = *node->outputs[0]->shape;
    if (std::ranges::any_of(output, is_empty) && std::ranges::none_of(input, is_empty))
      warnings.push_back(
          fmt::format("{}: its output {} is empty, as the kernel is larger than the input {} with its padding",
                      node->describe(), short_text(output), short_text(input)));
  }
  return warnings;
}

std::vector<std::string> baked_sizes(const Graph& graph) {
  std::vector<std::string> warnings;
  for (const SizeLine& line : size_lines(graph.size_rules))
    if (is_number(line.first->legal)) warnings.push_back(of_rule(line));
  for (const Guard& guard : graph.guards)
    if (fixes_a_size(guard)) warnings.push_back(of_guard(guard));
  return warnings;
}

}  // namespace onnxc
