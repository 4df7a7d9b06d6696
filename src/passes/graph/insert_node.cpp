#include "passes/graph/insert_node.h"

#include <fmt/format.h>

#include "ops/op.h"

namespace onnxc {

Value* insert_node(Graph& graph, const Node* before, std::string_view type, int version, std::vector<Value*> inputs,
                   std::vector<NamedAttribute> attributes, std::string name, DType dtype, Shape shape) {
  auto node = std::make_unique<Node>();
  node->op = find_op("", type, version);
  node->origin = before->origin;
  node->origin.type = type;
  node->origin.version = version;
  node->branch = before->branch;
  node->condition = before->condition;
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  Value* result = graph.add_value(std::move(name));
  result->dtype = dtype;
  result->shape = std::move(shape);
  node->outputs = {result};
  graph.insert(std::move(node), before);
  return result;
}

Value* insert_cast(Graph& graph, Value* input, DType wanted, const Node* before, const Node* other) {
  auto cast = std::make_unique<Node>();
  constexpr int version = 13;
  cast->op = find_op("", "Cast", version);
  cast->origin = {fmt::format("{}/{}", input->name, info(wanted).name), "Cast", "", version};
  cast->attributes = {{"to", static_cast<int64_t>(wanted)}};
  cast->inputs = {input};
  if (other != nullptr) {
    cast->branch = other->branch;
    cast->condition = other->condition;
  }
  Value* const result = graph.add_value(cast->origin.name);
  result->dtype = wanted;
  result->shape = input->shape;
  cast->outputs = {result};
  graph.insert(std::move(cast), before);
  return result;
}

}  // namespace onnxc
