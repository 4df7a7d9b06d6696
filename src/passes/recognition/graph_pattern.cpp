#include "passes/recognition/graph_pattern.h"

#include <algorithm>

#include "passes/graph/insert_node.h"

namespace onnxc {

bool same_shape(const Value& a, const Value& b) {
  return std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(), proven_equal);
}

const Node* only_user(const Graph& graph, const Value& value) {
  return value.uses.size() == 1 && !graph.is_output(&value) ? value.uses.front().node : nullptr;
}

bool is_number(const Value& value, double number) {
  return value.constant && value.constant->size() == 1 && is_floating(value.dtype) &&
         value.constant->as_double() == float_tensor(value.dtype, {}, {number}).as_double();
}

Value* operand_beside(const Node* node, std::string_view type, double number) {
  return operand_beside(node, type, [&](const Value& value) { return is_number(value, number); });
}

void replace(Graph& graph, Node* old, std::string_view type, int version, std::vector<Value*> inputs,
             std::vector<NamedAttribute> attributes, Value* old_result) {
  Value* result = insert_node(graph, old, type, version, std::move(inputs), std::move(attributes), old_result->name,
                              old_result->dtype, *old_result->shape);
  graph.replace_uses(old_result, result);
}

}  // namespace onnxc
