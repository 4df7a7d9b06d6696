#include "ops/expand_context.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dtype_visit.h"
#include "ops/op.h"

namespace onnxc {

std::unique_ptr<Node> ExpandContext::make_node(std::string_view domain, std::string_view type,
                                               std::vector<Value*> inputs,
                                               std::vector<NamedAttribute> attributes) const {
  auto node = std::make_unique<Node>();
  node->op = find_op(domain, type, expansion_version);
  internal_check(node->op != nullptr, "an expansion into operators that have rows");
  const Origin& origin = node_.origin;
  node->origin = {origin.name,       std::string(type), std::string(domain),
                  expansion_version, origin.place,      origin.expanded.empty() ? origin.type : origin.expanded};
  node->branch = node_.branch;
  node->condition = node_.condition;
  node->inputs = std::move(inputs);
  node->attributes = std::move(attributes);
  return node;
}

Value* ExpandContext::make_output(const Node& node) const {
  return graph_.add_value(fmt::format("{}/{}", node_.origin.name, node.origin.type));
}

std::vector<Value*> ExpandContext::add_row(std::string_view domain, std::string_view type, std::vector<Value*> inputs,
                                           size_t outputs, std::vector<NamedAttribute> attributes) {
  std::unique_ptr<Node> node = make_node(domain, type, std::move(inputs), std::move(attributes));
  for (size_t i = 0; i < outputs; ++i) node->outputs.push_back(make_output(*node));
  return graph_.insert(std::move(node), &mutable_node_)->outputs;
}

void ExpandContext::give_row(std::string_view domain, std::string_view type, std::vector<Value*> inputs,
                             std::vector<NamedAttribute> attributes) {
  std::unique_ptr<Node> node = make_node(domain, type, std::move(inputs), std::move(attributes));
  for (size_t i = 0; i < output_count(); ++i) node->outputs.push_back(has_output(i) ? make_output(*node) : nullptr);
  const std::vector<Value*> outputs = graph_.insert(std::move(node), &mutable_node_)->outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != nullptr) give(i, outputs[i]);
}

Value* ExpandContext::add(std::string_view type, std::vector<Value*> inputs, std::vector<NamedAttribute> attributes) {
  return add_row("", type, std::move(inputs), 1, std::move(attributes))[0];
}

Value* ExpandContext::constant(Tensor tensor) {
  return graph_.add_constant(fmt::format("{}/constant", node_.origin.name), std::move(tensor));
}

Value* ExpandContext::integers(std::vector<int64_t> values) {
  const std::vector<int64_t> dims{std::ssize(values)};
  return constant(Tensor::of(DType::int64, dims, values));
}

Tensor ExpandContext::string_tensor(const std::vector<std::string>& texts) {
  std::vector<int64_t> handles;
  for (const std::string& text : texts) handles.push_back(graph_.strings->handle(text));
  return Tensor::of(DType::string, {std::ssize(handles)}, handles);
}

Value* ExpandContext::number(DType dtype, double value) {
  return with_type(dtype, [&]<class T>() {
    Tensor tensor = Tensor::zeros(dtype, {});
    const T element = static_cast<T>(value);
    std::memcpy(tensor.mutable_bytes(), &element, sizeof element);
    return constant(std::move(tensor));
  });
}

void ExpandContext::give(size_t i, Value* value) {
  if (!has_output(i)) return;
  check(value != nullptr, "an input that output {} is made of is missing", i);
  Value* output = mutable_node_.outputs[i];
  // An output of the graph is a value of its own that a node makes, and what the node reads keeps its name.
  if (value->producer == nullptr || graph_.is_output(value) || is_read(value)) value = add("Identity", {value});
  value->name = output->name;
  value->declared_shape = output->declared_shape;
  value->declared_dtype = output->declared_dtype;
  graph_.replace_uses(output, value);
}

namespace {

// Operators without a schema, which counts them, may be given outputs that they have not.
void check_all_given(const Graph& graph, const ExpandContext& context, const Node& node) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    context.check(!graph.is_used(node.outputs[i]), "output {} is not one of the operator's", i);
}

}  // namespace

Node* expand_node(Graph& graph, Node& node) {
  const auto place = node.place;
  const bool is_first = place == graph.nodes().begin();
  const auto before = is_first ? place : std::prev(place);
  ExpandContext context(graph, node);
  node.op->expand(context);
  Node* first = is_first ? graph.nodes().begin()->get() : std::next(before)->get();
  check_all_given(graph, context, node);
  internal_check(first != &node, "an expansion puts at least one node");
  graph.erase(&node);
  return first;
}

}  // namespace onnxc
