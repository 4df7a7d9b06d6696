// Subgraphs: the nodes of branches and bodies are built into the graph itself, between the rows of
// ops/control/control_flow.h.
#include <algorithm>

#include "frontend/graph_builder.h"
#include "ops/control/control_flow.h"
#include "ops/op.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::vector<int64_t> integers(const AttributeMap& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return {};
  return {found->second->ints().begin(), found->second->ints().end()};
}

}  // namespace

bool GraphBuilder::build_control_flow(NodeInProgress& node) {
  if (!node.origin.domain.empty()) return false;
  const std::string& type = node.origin.type;
  if (type == "If") {
    if (!inline_branch(node)) build_if(node);
  } else if (type == "Loop") {
    build_loop(node);
  } else if (type == "Scan" && node.origin.version >= 9) {
    build_scan(node);
  } else {
    return false;
  }
  return true;
}

GraphBuilder::Scope GraphBuilder::subgraph_scope(const NodeInProgress& node, const std::string& what) {
  Scope inner = inner_scope(node, what);
  inner.outer = &node.scope;
  inner.versions = node.scope.versions;
  inner.attributes = node.scope.attributes;
  inner.owner = node.scope.owner;
  return inner;
}

void GraphBuilder::build_body(const onnx::GraphProto& body, const NodeInProgress& node, Scope& inner) {
  for (const onnx::TensorProto& tensor : body.initializer()) {
    const std::string what = fmt::format("{}, initializer {}", node.what, quote(tensor.name()));
    inner.values[tensor.name()] =
        graph_->add_constant(final_name(inner, tensor.name()), tensors_.read(tensor, what, inner.owner));
  }
  for (const onnx::NodeProto& each : body.node()) build_node(each, inner);
}

// The branch of an If whose condition is constant; false where it is not.
bool GraphBuilder::inline_branch(NodeInProgress& node) {
  const Value* condition = node.inputs.at(0);
  if (!condition->constant || condition->constant->size() != 1 || condition->dtype != DType::boolean) return false;
  const bool taken = condition->constant->as_int64()[0] != 0;
  const onnx::GraphProto& branch = node.attributes.at(taken ? "then_branch" : "else_branch")->g();
  user_check(branch.output_size() == node.proto.output_size(), "{}: it has {} outputs, and its branch {}", node.what,
             node.proto.output_size(), branch.output_size());
  Scope inner = subgraph_scope(node, "a branch");
  std::vector<std::string> formals;
  for (int i = 0; i < branch.output_size(); ++i) {
    formals.push_back(branch.output(i).name());
    if (!node.proto.output(i).empty()) inner.final_names[formals.back()] = final_name(node.scope, node.proto.output(i));
  }
  build_body(branch, node, inner);
  bind_outputs(node, inner, formals);
  return true;
}

Node* GraphBuilder::add_row(const NodeInProgress& node, std::string_view domain, std::string_view row,
                            std::vector<Value*> inputs, std::vector<Value*> outputs) {
  auto added = std::make_unique<Node>();
  added->op = find_op(domain, row, 1);
  internal_check(added->op != nullptr, "a row of control flow");
  added->origin = node.origin;
  added->branch = node.scope.branch;
  added->inputs = std::move(inputs);
  added->outputs = std::move(outputs);
  return graph_->insert(std::move(added));
}

// The value, or a copy made in `scope` of one that comes from outside.
Value* GraphBuilder::own_value(const NodeInProgress& node, Value* value, const Scope& scope) {
  const bool is_own = value->producer != nullptr && value->producer->branch == scope.branch && value->uses.empty();
  if (is_own) return value;
  auto copy = std::make_unique<Node>();
  constexpr int version = 1;
  copy->op = find_op("", "Identity", version);
  const std::string name = free_name(scope.prefix + "copy");
  copy->origin = {name, "Identity", "", version};
  copy->branch = scope.branch;
  copy->inputs = {value};
  copy->outputs = {graph_->add_value(name)};
  copy->outputs[0]->dtype = value->dtype;
  return graph_->insert(std::move(copy))->outputs[0];
}

std::vector<Value*> GraphBuilder::build_branch(NodeInProgress& node, const std::string& attribute, bool when) {
  const onnx::GraphProto& branch = node.attributes.at(attribute)->g();
  user_check(branch.output_size() == node.proto.output_size(), "{}: it has {} outputs, and its {} {}", node.what,
             node.proto.output_size(), attribute, branch.output_size());
  Scope inner = subgraph_scope(node, "a branch");
  inner.prefix += attribute + "/";
  inner.branch = std::make_shared<const Branch>(node.inputs.at(0), when, node.scope.branch);
  build_body(branch, node, inner);
  std::vector<Value*> values;
  for (const auto& output : branch.output()) {
    Value* value = own_value(node, given_value(node, inner, output.name()), inner);
    if (std::ranges::find(values, value) != values.end()) value = own_value(node, value, inner);
    values.push_back(value);
  }
  return values;
}

void GraphBuilder::build_if(NodeInProgress& node) {
  std::vector<Value*> inputs{node.inputs.at(0)};
  for (const auto& [attribute, when] : {std::pair("then_branch", true), std::pair("else_branch", false)}) {
    std::vector<Value*> values = build_branch(node, attribute, when);
    inputs.insert(inputs.end(), values.begin(), values.end());
  }
  std::vector<Value*> outputs;
  for (const std::string& name : node.proto.output())
    outputs.push_back(name.empty() ? nullptr : define_value(node.scope, name));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != nullptr) outputs[i]->dtype = inputs[1 + i]->dtype;
  add_row(node, "", "If", std::move(inputs), std::move(outputs));
}

void GraphBuilder::build_loop(NodeInProgress& node) {
  const onnx::GraphProto& body = node.attributes.at("body")->g();
  std::vector<Value*> inputs = node.inputs;
  inputs.resize(std::max<size_t>(inputs.size(), 2), nullptr);
  LoopParts parts{body, inputs.size() - 2, inputs, {}, true, {}, {}, {}, {}};
  user_check(body.input_size() == static_cast<int>(inputs.size()), "{}: its body has {} inputs, expected {}", node.what,
             body.input_size(), inputs.size());
  user_check(body.output_size() == node.proto.output_size() + 1, "{}: its body has {} outputs, expected {}", node.what,
             body.output_size(), node.proto.output_size() + 1);
  for (const auto& input : body.input()) parts.begin_outputs.push_back(input.name());
  build_rounds(node, parts);
}

void GraphBuilder::build_scan(NodeInProgress& node) {
  const onnx::GraphProto& body = node.attributes.at("body")->g();
  const int64_t scanned = node.attributes.at("num_scan_inputs")->i();
  const auto given = static_cast<int64_t>(node.inputs.size());
  user_check(scanned >= 1 && scanned <= given, "{}: attribute 'num_scan_inputs' is {}, and it has {} inputs", node.what,
             scanned, given);
  user_check(body.input_size() == given, "{}: its body has {} inputs, expected {}", node.what, body.input_size(),
             given);
  user_check(body.output_size() == node.proto.output_size(), "{}: its body has {} outputs, expected {}", node.what,
             body.output_size(), node.proto.output_size());
  LoopParts parts{body,
                  static_cast<size_t>(given - scanned),
                  {nullptr, nullptr},
                  {"", ""},
                  false,
                  integers(node.attributes, "scan_input_axes"),
                  integers(node.attributes, "scan_input_directions"),
                  integers(node.attributes, "scan_output_axes"),
                  integers(node.attributes, "scan_output_directions")};
  parts.begin_inputs.insert(parts.begin_inputs.end(), node.inputs.begin(), node.inputs.end());
  for (const auto& input : body.input()) parts.begin_outputs.push_back(input.name());
  build_rounds(node, parts);
}

void GraphBuilder::build_rounds(NodeInProgress& node, const LoopParts& parts) {
  constexpr size_t first_state = 2;
  Scope inner = subgraph_scope(node, "a loop's body");
  for (const Value* input : std::span(parts.begin_inputs).subspan(first_state))
    user_check(input != nullptr, "{}: an initial state or scanned tensor is missing", node.what);
  const auto order = [](const std::vector<int64_t>& axes, const std::vector<int64_t>& directions, size_t carried) {
    return std::vector<NamedAttribute>{
        {"carried", static_cast<int64_t>(carried)}, {"axes", axes}, {"directions", directions}};
  };
  std::vector<Value*> begin_outputs;
  for (size_t i = 0; i < parts.begin_outputs.size(); ++i) {
    const std::string& name = parts.begin_outputs[i];
    Value* value = graph_->add_value(final_name(inner, !name.empty() ? name : i == 0 ? "round" : "condition"));
    if (!name.empty()) inner.values[name] = value;
    value->dtype = i == 0 ? DType::int64 : i == 1 ? DType::boolean : parts.begin_inputs[i]->dtype;
    begin_outputs.push_back(value);
  }
  Node* begin = add_row(node, control_flow_domain, "LoopBegin", parts.begin_inputs, begin_outputs);
  begin->attributes = order(parts.input_axes, parts.input_directions, parts.carried);

  build_body(parts.body, node, inner);

  std::vector<Value*> end_inputs(begin_outputs.begin(),
                                 begin_outputs.begin() + static_cast<std::ptrdiff_t>(first_state + parts.carried));
  if (!parts.has_condition) end_inputs.push_back(begin_outputs[1]);
  for (const auto& output : parts.body.output()) end_inputs.push_back(given_value(node, inner, output.name()));
  std::vector<Value*> outputs;
  for (const std::string& name : node.proto.output())
    outputs.push_back(name.empty() ? nullptr : define_value(node.scope, name));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != nullptr) outputs[i]->dtype = end_inputs[first_state + parts.carried + 1 + i]->dtype;
  Node* end = add_row(node, control_flow_domain, "LoopEnd", std::move(end_inputs), std::move(outputs));
  end->attributes = order(parts.output_axes, parts.output_directions, parts.carried);
}

}  // namespace onnxc
