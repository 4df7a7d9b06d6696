#include "passes/recognition/scale_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "passes/graph/insert_node.h"
#include "passes/recognition/graph_pattern.h"

namespace onnxc {
namespace {

// Whether a softmax reads the value, at most a few nodes on.
bool are_scores(const Graph& graph, const Value* value) {
  constexpr int most_nodes = 8;
  for (int i = 0; i < most_nodes; ++i) {
    const Node* reader = only_user(graph, *value);
    if (is_operator(reader, "Softmax")) return true;
    if (!is_one_of(reader, {"Add", "Sub", "Mul", "Div", "Tanh", "Where", "Reshape", "Cast"})) return false;
    value = reader->outputs[0];
  }
  return false;
}

bool is_factor(const Value& value) {
  constexpr double most = 4096;
  if (!value.constant || value.constant->size() != 1) return false;
  const double magnitude = std::abs(value.constant->as_double()[0]);
  return magnitude >= 1 / most && magnitude <= most;
}

// The node that multiplies or divides by a factor to make the operand. Null if there is none, or the operand has
// another reader.
const Node* scaling_of(const Graph& graph, const Value& operand) {
  const Node* node = operand.producer;
  if (!is_one_of(node, {"Mul", "Div"})) return nullptr;
  const bool scales = is_factor(*node->inputs[1]) && same_shape(*node->inputs[0], operand);
  return scales && only_user(graph, operand) != nullptr ? node : nullptr;
}

void scale(Graph& graph, Node* product) {
  Value* const result = product->outputs[0];
  if (result->dtype != DType::float32 && result->dtype != DType::float64) return;
  if (std::ranges::any_of(product->inputs, [](const Value* operand) { return operand->constant.has_value(); })) return;
  const std::array scalings = {scaling_of(graph, *product->inputs[0]), scaling_of(graph, *product->inputs[1])};
  if ((scalings[0] == nullptr && scalings[1] == nullptr) || !are_scores(graph, result)) return;
  std::vector<Value*> operands = product->inputs;
  for (size_t side = 0; side < scalings.size(); ++side)
    if (scalings[side] != nullptr) operands[side] = scalings[side]->inputs[0];
  Value* scaled = insert_node(graph, product, "MatMul", product->origin.version, operands, {},
                              result->name + "/unscaled", result->dtype, *result->shape);
  for (size_t side = 0; side < scalings.size(); ++side) {
    const Node* const scaling = scalings[side];
    if (scaling == nullptr) continue;
    Value* const factor =
        graph.add_constant(fmt::format("{}/factor{}", result->name, side),
                           float_tensor(result->dtype, {}, scaling->inputs[1]->constant->as_double()));
    scaled = insert_node(graph, product, scaling->op->name, scaling->origin.version, {scaled, factor}, {},
                         fmt::format("{}/scaled{}", result->name, side), result->dtype, *result->shape);
  }
  graph.replace_uses(result, scaled);
}

}  // namespace

void scale_products(Graph& graph) {
  for (const auto& node : graph.nodes())
    if (is_operator(node.get(), "MatMul")) scale(graph, node.get());
  graph.erase_unused();
}

}  // namespace onnxc
