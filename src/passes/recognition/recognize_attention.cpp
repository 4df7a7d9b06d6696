#include "passes/recognition/recognize_attention.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "passes/graph/insert_node.h"
#include "passes/recognition/graph_pattern.h"

namespace onnxc {
namespace {

// The number that every element of a floating tensor is, if at most so many nodes tell.
std::optional<double> uniform_number(const Value& value, int nodes = 8) {
  constexpr int64_t few = 4096;
  if (value.dtype != DType::float32 && value.dtype != DType::float64 && !is_half(value.dtype)) return std::nullopt;
  if (value.constant) {
    if (value.constant->size() == 0 || value.constant->size() > few) return std::nullopt;
    const std::vector<double> numbers = value.constant->as_double();
    if (std::ranges::all_of(numbers, [&](double number) { return number == numbers[0]; })) return numbers[0];
    return std::nullopt;
  }
  const Node* node = value.producer;
  if (is_operator(node, "ConstantOfShape")) {
    const Tensor* number = NodeReader(*node).tensor("value");
    return number == nullptr ? 0 : number->as_double()[0];
  }
  const bool keeps = nodes > 0 && is_one_of(node, {"Identity", "Reshape", "Expand", "Unsqueeze", "Transpose", "Squeeze",
                                                   "Cast", "CastLike"});
  const std::optional<double> number = keeps ? uniform_number(*node->inputs[0], nodes - 1) : std::nullopt;
  return number ? std::optional(float_tensor(value.dtype, {}, {*number}).as_double()[0]) : std::nullopt;
}

bool folds_last_axis(const Node& reduction) {
  const NodeReader reader(reduction);
  const std::optional<std::vector<Expr>> axes = reader.integers_from(1, "axes");
  return reader.integer("keepdims", 1) != 0 && axes && axes->size() == 1 && (*axes)[0].constant() &&
         reader.axis(*(*axes)[0].constant(), reader.rank(0)) == reader.rank(0) - 1;
}

// Whether the condition is false for every row that has elements. It looks for rows of a mask that are -inf everywhere,
// and the mask is another number.
bool holds_for_no_row(const Value& condition) {
  const Node* equal = condition.producer;
  if (!is_operator(equal, "Equal") || !is_operator(equal->inputs[0]->producer, "ReduceMax")) return false;
  const Node& largest = *equal->inputs[0]->producer;
  if (!folds_last_axis(largest)) return false;
  const std::optional<double> mask = uniform_number(*largest.inputs[0]), hidden = uniform_number(*equal->inputs[1]);
  return mask && hidden && *hidden == -std::numeric_limits<double>::infinity() && *mask > *hidden;
}

// The node that computes the value, or that a Cast of it reads.
Node* before_cast(const Value& value) {
  Node* node = value.producer;
  return is_operator(node, "Cast") ? node->inputs[0]->producer : node;
}

// Guards the product's rows in the place of the softmax's.
void guard_the_product(Graph& graph, Node* product) {
  Node* const guard = product->inputs[0]->producer;
  if (!is_operator(guard, "Where") || only_user(graph, *guard->outputs[0]) != product) return;
  Value *condition = guard->inputs[0], *weights = guard->inputs[2], *result = product->outputs[0];
  if (uniform_number(*guard->inputs[1]) != 0 || !is_operator(before_cast(*weights), "Softmax")) return;
  if (!same_shape(*weights, *guard->outputs[0]) || result->shape->size() != weights->shape->size()) return;
  if (holds_for_no_row(*condition)) return graph.set_input(product, 0, weights);
  if (condition->shape->empty() || !condition->shape->back().is_constant(1)) return;
  Value* const zero = graph.add_constant(result->name + "/masked", float_tensor(result->dtype, {}, {0}));
  Value* const unguarded = insert_node(graph, product, "MatMul", product->origin.version, {weights, product->inputs[1]},
                                       {}, result->name + "/unguarded", result->dtype, *result->shape);
  replace(graph, product, "Where", guard->origin.version, {condition, zero, unguarded}, {}, result);
}

// Adds no mask of zeros to the scores whose softmax is multiplied.
void drop_zero_mask(Graph& graph, const Node* product) {
  const Node* softmax = before_cast(*product->inputs[0]);
  const Node* add = is_operator(softmax, "Softmax") ? before_cast(*softmax->inputs[0]) : nullptr;
  if (!is_operator(add, "Add") || graph.is_output(add->outputs[0])) return;
  Value* const scores = add->outputs[0];
  const size_t mask = uniform_number(*add->inputs[1]) == 0 ? 1 : 0;
  Value* const unmasked = add->inputs[1 - mask];
  if (uniform_number(*add->inputs[mask]) != 0 || unmasked->dtype != scores->dtype) return;
  if (same_shape(*unmasked, *scores)) graph.replace_uses(scores, unmasked);
}

}  // namespace

void recognize_attention(Graph& graph, Node* product) {
  guard_the_product(graph, product);
  drop_zero_mask(graph, product);
}

}  // namespace onnxc
