// Words for the patterns that recognize_operators looks for.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace onnxc {

bool same_shape(const Value& a, const Value& b);

// The only node that uses the value; null if there are others.
const Node* only_user(const Graph& graph, const Value& value);

// Whether the value is a constant of one element, `number` in its floating type.
bool is_number(const Value& value, double number);

// The operand that a node of this type combines with one that fits, in either order (a Div takes that second); null for
// any other node.
template <std::predicate<const Value&> Fits>
Value* operand_beside(const Node* node, std::string_view type, const Fits& fits) {
  if (!is_operator(node, type)) return nullptr;
  if (fits(*node->inputs[1])) return node->inputs[0];
  return type != "Div" && fits(*node->inputs[0]) ? node->inputs[1] : nullptr;
}

// The same beside `number`.
Value* operand_beside(const Node* node, std::string_view type, double number);

// Inserts a node that computes `old_result`, the first output of `old`, and replaces its uses.
void replace(Graph& graph, Node* old, std::string_view type, int version, std::vector<Value*> inputs,
             std::vector<NamedAttribute> attributes, Value* old_result);

}  // namespace onnxc
