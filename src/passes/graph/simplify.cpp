#include "passes/graph/simplify.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "ops/op.h"

namespace onnxc {
namespace {

bool same_shape(const Value& a, const Value& b) {
  return a.shape && b.shape && a.shape->size() == b.shape->size() &&
         std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), proven_equal);
}

bool keeps_order(const NodeReader& node) {
  std::vector<int64_t> order = node.integers("perm");
  return !order.empty() && std::is_sorted(order.begin(), order.end());
}

// Whether the first output is the first input, element by element.
bool does_nothing(const Node& node) {
  constexpr std::array shape_changers = {std::string_view("Reshape"), std::string_view("Flatten"),
                                         std::string_view("Squeeze"), std::string_view("Unsqueeze"),
                                         std::string_view("Expand")};
  if (!node.op->domain.empty() || node.inputs.empty() || node.inputs[0] == nullptr) return false;
  if (node.outputs.empty() || node.outputs[0] == nullptr) return false;
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  if (input.dtype != output.dtype) return false;
  NodeReader reader(node);
  std::string_view type = node.op->name;
  if (type == "Identity" || type == "Cast" || type == "CastLike") return true;
  if (type == "Dropout") {
    bool has_mask = node.outputs.size() > 1 && node.outputs[1] != nullptr && !node.outputs[1]->uses.empty();
    bool trains = node.inputs.size() > 2 && node.inputs[2] != nullptr;
    return !has_mask && !trains;
  }
  if (type == "Transpose") return keeps_order(reader);
  if (type == "Concat" || type == "Sum" || type == "Max" || type == "Min") return node.inputs.size() == 1;
  return std::find(shape_changers.begin(), shape_changers.end(), type) != shape_changers.end() &&
         same_shape(input, output);
}

// The side of a Where that its condition takes everywhere; null if it is not known or spread over more axes.
Value* side_taken(const Node& node) {
  const Tensor* condition = NodeReader(node).constant(0);
  if (condition == nullptr || condition->size() == 0) return nullptr;
  const std::span<const bool> holds = condition->values<bool>();
  if (std::ranges::find(holds, !holds.front()) != holds.end()) return nullptr;
  Value* side = node.inputs[holds.front() ? 1 : 2];
  return same_shape(*side, *node.outputs[0]) ? side : nullptr;
}

// The input that the first output is, element by element.
Value* handed_on(const Node& node) {
  if (is_operator(&node, "Where")) return side_taken(node);
  return does_nothing(node) ? node.inputs[0] : nullptr;
}

}  // namespace

void simplify(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    Value* input = handed_on(*node);
    if (input == nullptr) continue;
    Value* output = node->outputs[0];
    // Sizes are read from this very tensor.
    if (output->elements_at_run_time) continue;
    // A constant is copied into the output in any case.
    if (graph.is_output(output) && (input->constant || !graph.may_become_output(input))) continue;
    graph.replace_uses(output, input);
  }
  graph.erase_unused();
}

}  // namespace onnxc
