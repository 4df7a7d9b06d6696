// Subgraphs: the nodes of branches and bodies are built into the graph itself, between the rows of
// ops/control/control_flow.h.
#include <algorithm>

#include "frontend/graph_builder.h"
#include "ops/control/control_flow.h"
#include "ops/op.h"
#include "support/count_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::vector<int64_t> integers(const AttributeMap& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return {};
  return {found->second->ints().begin(), found->second->ints().end()};
}

// Whether shape inference may put other nodes in the place of this one, whose outputs are then other values.
bool may_be_replaced(const Node* node) {
  if (node == nullptr || node->op == nullptr) return false;
  return node->op->expand != nullptr || node->op->name == "If" || node->op->name == "LoopEnd";
}

}  // namespace

bool GraphBuilder::build_control_flow(NodeInProgress& node) {
  if (!node.origin.domain.empty()) return false;
  const std::string& type = node.origin.type;
  if (type == "If") {
    if (!inline_branch(node)) build_if(node);
  } else if (type == "Loop") {
    build_loop(node);
  } else if (type == "Scan") {
    if (node.origin.version < 9)
      build_batched_scan(node);
    else
      build_scan(node);
  } else if (type == "SequenceMap") {
    build_sequence_map(node);
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

// The branch of an If whose condition is constant; false if it is not.
bool GraphBuilder::inline_branch(NodeInProgress& node) {
  const Value* condition = node.inputs.at(0);
  if (!condition->constant || condition->constant->size() != 1 || condition->dtype != DType::boolean) return false;
  const bool taken = condition->constant->as_int64()[0] != 0;
  const onnx::GraphProto& branch = node.attributes.at(taken ? "then_branch" : "else_branch")->g();
  user_check(branch.output_size() == node.proto.output_size(), "{}: it has {}, and its branch {}", node.what,
             counted(node.proto.output_size(), "output"), branch.output_size());
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
  user_check(branch.output_size() == node.proto.output_size(), "{}: it has {}, and its {} {}", node.what,
             counted(node.proto.output_size(), "output"), attribute, branch.output_size());
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
  if (may_be_replaced(node.inputs.at(0)->producer)) {
    // The nodes of its branches keep the value itself.
    Value* condition = graph_->add_value(free_name(node.scope.prefix + "condition"));
    condition->dtype = DType::boolean;
    add_row(node, "", "Identity", {node.inputs[0]}, {condition});
    node.inputs[0] = condition;
  }
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
  user_check(body.input_size() == static_cast<int>(inputs.size()), "{}: its body has {}, expected {}", node.what,
             counted(body.input_size(), "input"), inputs.size());
  user_check(body.output_size() == node.proto.output_size() + 1, "{}: its body has {}, expected {}", node.what,
             counted(body.output_size(), "output"), node.proto.output_size() + 1);
  for (const auto& input : body.input()) parts.begin_outputs.push_back(input.name());
  build_rounds(node, parts);
}

void GraphBuilder::build_scan(NodeInProgress& node) {
  const onnx::GraphProto& body = node.attributes.at("body")->g();
  const int64_t scanned = node.attributes.at("num_scan_inputs")->i();
  const auto given = static_cast<int64_t>(node.inputs.size());
  user_check(scanned >= 1 && scanned <= given, "{}: attribute 'num_scan_inputs' is {}, and it has {}", node.what,
             scanned, counted(given, "input"));
  user_check(body.input_size() == given, "{}: its body has {}, expected {}", node.what,
             counted(body.input_size(), "input"), given);
  user_check(body.output_size() == node.proto.output_size(), "{}: its body has {}, expected {}", node.what,
             counted(body.output_size(), "output"), node.proto.output_size());
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

// ONNX Scan 8 has a batch as the first axis of all: a Scan 9 over the batch, whose body is a Scan 9 of one element.
void GraphBuilder::build_batched_scan(NodeInProgress& node) {
  user_check(node.inputs.empty() || node.inputs[0] == nullptr,
             "{}: its input 0 (sequence_lens) is not supported; export the model with opset_version 9 or newer",
             node.what);
  onnx::NodeProto one;
  one.set_op_type("Scan");
  for (const auto& [name, attribute] : node.attributes) {
    *one.add_attribute() = *attribute;
    one.mutable_attribute(one.attribute_size() - 1)->set_name(name == "directions" ? "scan_input_directions" : name);
  }
  // Tensors of the body point into it.
  const auto all = std::make_shared<onnx::NodeProto>();
  all->set_op_type("Scan");
  onnx::GraphProto each;
  Scope inner = subgraph_scope(node, "a body");
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const std::string name = fmt::format("{}in{}", inner.prefix, i);
    inner.values[name] = node.inputs[i];
    all->add_input(name);
    each.add_input()->set_name(name + "/each");
    one.add_input(name + "/each");
  }
  std::vector<std::string> outputs;
  for (int i = 0; i < node.proto.output_size(); ++i) {
    outputs.push_back(fmt::format("{}out{}", inner.prefix, i));
    if (!node.proto.output(i).empty()) inner.final_names[outputs.back()] = final_name(node.scope, node.proto.output(i));
    all->add_output(outputs.back());
    each.add_output()->set_name(outputs.back() + "/each");
    one.add_output(outputs.back() + "/each");
  }
  *each.add_node() = std::move(one);
  onnx::AttributeProto* body = all->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  *body->mutable_g() = std::move(each);
  onnx::AttributeProto* scanned = all->add_attribute();
  scanned->set_name("num_scan_inputs");
  scanned->set_type(onnx::AttributeProto::INT);
  scanned->set_i(all->input_size());
  OpsetVersions versions = *node.scope.versions;
  versions[""] = 9;
  inner.versions = &versions;
  inner.owner = all;
  build_node(*all, inner);
  bind_outputs(node, inner, outputs);
}

// A loop over the sequence that is the first input. Each output is a state, to which each round appends its tensor.
// (ONNX's own function body asks for types that are known only later: which of the inputs are sequences.)
void GraphBuilder::build_sequence_map(NodeInProgress& node) {
  const onnx::GraphProto& body = node.attributes.at("body")->g();
  user_check(body.input_size() == std::ssize(node.inputs), "{}: its body has {}, expected {}", node.what,
             counted(body.input_size(), "input"), node.inputs.size());
  user_check(body.output_size() == node.proto.output_size(), "{}: its body has {}, expected {}", node.what,
             counted(body.output_size(), "output"), node.proto.output_size());
  Scope inner = subgraph_scope(node, "a body");
  const auto add = [&](std::string_view domain, std::string_view row, std::vector<Value*> inputs) {
    Value* output = graph_->add_value(free_name(fmt::format("{}{}", inner.prefix, row)));
    add_row(node, domain, row, std::move(inputs), {output});
    return output;
  };
  const NamedAttribute carried{"carried", int64_t{body.output_size()}};
  std::vector<Value*> begin_inputs{add("", "SequenceLength", {node.inputs.at(0)}), nullptr}, begin_outputs, end_inputs;
  for (int i = 0; i < body.output_size(); ++i) begin_inputs.push_back(add("", "SequenceEmpty", {}));
  for (size_t i = 0; i < begin_inputs.size(); ++i)
    begin_outputs.push_back(graph_->add_value(free_name(inner.prefix + "round")));
  begin_outputs[0]->dtype = DType::int64;
  begin_outputs[1]->dtype = DType::boolean;
  add_row(node, control_flow_domain, "LoopBegin", begin_inputs, begin_outputs)->attributes = {carried};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inner.values[body.input(static_cast<int>(i)).name()] =
        add(control_flow_domain, "MapInput", {node.inputs[i], begin_outputs[0]});

  build_body(body, node, inner);

  end_inputs = begin_outputs;
  end_inputs.push_back(begin_outputs[1]);
  std::vector<Value*> outputs;
  for (int i = 0; i < body.output_size(); ++i) {
    Value* state = begin_outputs[LoopPlaces::first_state + static_cast<size_t>(i)];
    end_inputs.push_back(add("", "SequenceInsert", {state, given_value(node, inner, body.output(i).name())}));
    const std::string& name = node.proto.output(i);
    outputs.push_back(name.empty() ? nullptr : define_value(node.scope, name));
  }
  add_row(node, control_flow_domain, "LoopEnd", std::move(end_inputs), std::move(outputs))->attributes = {carried};
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
