#include "passes/graph/widen_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "passes/graph/insert_node.h"

namespace onnxc {
namespace {

bool is_half(const Value* value) {
  return value != nullptr && value->shape && (value->dtype == DType::float16 || value->dtype == DType::bfloat16);
}

bool scales_or_masks(const Node* node) {
  constexpr std::array<std::string_view, 5> types = {"Add", "Sub", "Mul", "Div", "Tanh"};
  return std::ranges::any_of(types, [&](std::string_view type) { return is_operator(node, type); });
}

// Makes the value float32 for one of its readers; the others read a copy of the type that it had.
void widen(Graph& graph, Value* value, const Node* reader) {
  const DType half = value->dtype;
  value->dtype = DType::float32;
  const std::vector<Use> uses = value->uses;
  const auto is_reader = [&](const Use& use) { return use.node == reader; };
  if (std::ranges::all_of(uses, is_reader) && !graph.is_output(value)) return;
  constexpr int version = 13;
  const Node* const before = std::next(value->producer->place)->get();
  Value* const copy = insert_node(graph, before, "Cast", version, {value}, {{"to", static_cast<int64_t>(half)}},
                                  fmt::format("{}/{}", value->name, info(half).name), half, *value->shape);
  graph.replace_uses(value, copy);
  graph.set_input(copy->producer, 0, value);
  for (const Use& use : uses)
    if (is_reader(use)) graph.set_input(use.node, use.index, value);
}

// Widens the values between a product, at most so many nodes before, and the reader; false if no product is there.
bool widen_from_product(Graph& graph, Value* value, const Node* reader, int nodes) {
  if (!is_half(value)) return false;
  const Node* producer = value->producer;
  bool found = is_operator(producer, "MatMul");
  if (nodes > 0 && scales_or_masks(producer))
    for (Value* input : std::vector(producer->inputs)) found |= widen_from_product(graph, input, producer, nodes - 1);
  if (found) widen(graph, value, reader);
  return found;
}

}  // namespace

void widen_scores(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!is_operator(node.get(), "Softmax")) continue;
    const Node* reader = node.get();
    // An attention whose softmax is asked for in float32 casts its scores.
    const Node* cast = reader->inputs[0]->producer;
    if (is_operator(cast, "Cast")) reader = cast;
    constexpr int nodes = 8;  // each may have two such inputs
    widen_from_product(graph, reader->inputs[0], reader, nodes);
  }
}

}  // namespace onnxc
