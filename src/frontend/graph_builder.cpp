#include "frontend/graph_builder.h"

#include <algorithm>
#include <limits>

#include "frontend/constant_node.h"
#include "frontend/file/needed_nodes.h"
#include "frontend/file/onnx_names.h"
#include "frontend/file/source_place.h"
#include "frontend/signature.h"
#include "ops/op.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {

GraphBuilder::GraphBuilder(std::shared_ptr<const onnx::ModelProto> model, const std::filesystem::path& folder,
                           const ImportOptions& options)
    : model_(std::move(model)),
      options_(options),
      graph_(std::make_unique<Graph>()),
      tensors_(folder, options.limits, {.allow_hard_links = options.allow_hard_links}, *graph_->strings),
      symbols_(options.dims),
      functions_(model_),
      versions_(read_opset_imports(*model_)) {
  main_.versions = &versions_;
  main_.owner = model_;
}

std::unique_ptr<Graph> GraphBuilder::build() {
  const onnx::GraphProto& graph = model_->graph();
  add_inputs();
  for (const auto& value : graph.value_info()) declared_.emplace(value.name(), &value);
  for (const auto& value : graph.output()) declared_.emplace(value.name(), &value);
  for (const onnx::NodeProto& node : graph.node()) names_.insert(node.output().begin(), node.output().end());

  const std::vector<std::string> outputs = choose_outputs();
  const NeededParts needed = find_needed_parts(graph, outputs);
  add_initializers(needed.values);
  for (const onnx::NodeProto& node : graph.node())
    if (needed.nodes.contains(&node)) build_node(node, main_);
  if (!unsupported_.empty() && !options_.keep_unsupported) throw UserError(unsupported_.report());
  add_outputs(outputs);
  graph_->erase_unused();
  return std::move(graph_);
}

// The model's interface.

void GraphBuilder::add_inputs() {
  const onnx::GraphProto& graph = model_->graph();
  // Before IR version 4 every initializer stood among the inputs too; later that makes it a default which a caller may
  // replace, and onnxc takes it as fixed.
  for (const onnx::TensorProto& tensor : graph.initializer()) names_.insert(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) names_.insert(tensor.values().name());
  for (const onnx::ValueInfoProto& input : graph.input())
    for (const auto& dim : input.type().tensor_type().shape().dim()) symbols_.reserve(dim.dim_param());

  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!names_.insert(input.name()).second) continue;
    Value* value = graph_->add_value(input.name());
    value->dtype = read_input_dtype(input);
    value->shape = read_input_shape(input, symbols_, options_.limits, warnings_);
    value->declared_shape = value->shape;  // a rule of its sizes may narrow the other
    graph_->inputs.push_back(value);
    main_.values[input.name()] = value;
  }
  if (!options_.keep_unused_dims) symbols_.check_bounds_used();
}

std::vector<std::string> GraphBuilder::choose_outputs() const {
  std::vector<std::string> all;
  for (const onnx::ValueInfoProto& output : model_->graph().output()) all.push_back(output.name());
  user_check(!all.empty(), "the graph has no outputs");
  for (const std::string& wanted : options_.outputs) {
    if (std::ranges::find(all, wanted) != all.end()) continue;
    std::vector<std::string> known;
    for (const std::string& name : all) known.push_back(printable(name));
    throw UsageError(fmt::format("--outputs: the model has no output {}; it has: {}", quote(wanted), list_text(known)));
  }
  return options_.outputs.empty() ? all : options_.outputs;
}

void GraphBuilder::add_initializers(const std::unordered_set<std::string>& needed) {
  const auto add = [&](const std::string& name, const auto& tensor) {
    if (!needed.contains(name)) return;
    const std::string what = fmt::format("initializer {}", quote(name));
    main_.values[name] = graph_->add_constant(name, tensors_.read(tensor, what, model_));
  };
  for (const onnx::TensorProto& tensor : model_->graph().initializer()) add(tensor.name(), tensor);
  for (const onnx::SparseTensorProto& tensor : model_->graph().sparse_initializer())
    add(tensor.values().name(), tensor);
}

// Every output of the graph is a value of its own that a node makes: inputs, constants and values that are an output
// already are copied by an Identity.
void GraphBuilder::add_outputs(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    Value* value = find_value(main_, name);
    if (value->producer == nullptr || graph_->is_output(value)) value = add_identity(value, name);
    value->name = name;
    graph_->outputs.push_back(value);
  }
}

Value* GraphBuilder::add_identity(Value* value, const std::string& name) {
  constexpr int version = 1;
  auto node = std::make_unique<Node>();
  node->op = find_op("", "Identity", version);
  internal_check(node->op != nullptr, "there is a row for Identity");
  node->origin = {name, "Identity", "", version};
  node->inputs = {value};
  node->outputs = {graph_->add_value(name)};
  node->outputs[0]->dtype = value->dtype;
  set_declared(node->outputs[0]);
  // Two values of one name would not be told apart; an input keeps its name, as it is the caller's.
  if (value->constant && value->name == name) value->name += "#constant";
  return graph_->insert(std::move(node))->outputs[0];
}

// Nodes.

void GraphBuilder::build_node(const onnx::NodeProto& proto, Scope& scope) {
  const int64_t most = options_.limits.max_nodes;
  user_check(++node_count_ <= most, "the model has more than {} nodes once its functions are inlined (--max-nodes)",
             most);
  NodeInProgress node = start_node(proto, scope);
  if (const FunctionPointer function = functions_.find(proto)) {
    inline_function(node, function, bind_attributes(node.attributes, *function));
  } else {
    build_operator(node);
  }
}

void GraphBuilder::build_operator(NodeInProgress& node) {
  Origin& origin = node.origin;
  const auto version = node.scope.versions->find(origin.domain);
  user_check(version != node.scope.versions->end(),
             "{}: the model imports no operator set for the domain {} (opset_import)", node.what,
             domain_text(origin.domain));
  user_check(version->second <= std::numeric_limits<int>::max(), "{}: version {} of the operator set {} does not exist",
             node.what, version->second, domain_text(origin.domain));
  origin.version = static_cast<int>(version->second);
  node.schema = onnx::OpSchemaRegistry::Schema(origin.type, origin.version, origin.domain);
  if (!exists(node)) return add_unsupported(node);
  if (node.schema != nullptr) {
    check_attributes(node.attributes, *node.schema, node.what);
    check_signature(node.proto, node.inputs, *node.schema, node.what);
  }

  if (origin.domain.empty() && origin.type == "Constant") return add_constant(node);
  if (is_own_domain(origin.domain)) return add_unsupported(node);
  if (build_control_flow(node)) return;
  if (const OpRow* row = find_op(origin.domain, origin.type, origin.version)) return add_node(node, row);
  if (node.schema == nullptr) return add_unsupported(node);
  const FunctionPointer body =
      find_schema_function(*node.schema, origin.version, node.proto, node.attributes, node.inputs);
  if (body == nullptr) return add_unsupported(node);
  inline_function(node, body, bind_attributes(node.attributes, *node.schema));
}

// Whether the operator is one of its operator set; a row may cover more versions than the operator was part of ONNX in.
bool GraphBuilder::exists(NodeInProgress& node) {
  Origin& origin = node.origin;
  // GroupNormalization 18 is deprecated (version 21 has other parameters), but files hold it.
  const bool is_early_group_normalization = origin.domain.empty() && origin.type == "GroupNormalization";
  if (node.schema != nullptr) return !node.schema->Deprecated() || is_early_group_normalization;
  if (!is_onnx_domain(origin.domain)) return true;
  const std::optional<int> taken_as = version_outside_onnx(origin);
  if (!taken_as) return false;
  if (*taken_as == 0) {
    warnings_.push_back(fmt::format("{}: ONNX has no such operator; it is taken as onnxruntime's", node.what));
    return true;
  }
  warnings_.push_back(fmt::format("{}: version {} of ONNX has no such operator; it is taken as that of version {}",
                                  node.what, origin.version, *taken_as));
  origin.version = *taken_as;
  node.schema = onnx::OpSchemaRegistry::Schema(origin.type, origin.version, origin.domain);
  return node.schema != nullptr;
}

void GraphBuilder::add_unsupported(NodeInProgress& node) {
  unsupported_.add(node.origin, node.schema);
  node.attributes.clear();  // may be of types that cannot be read
  add_node(node, nullptr);
}

GraphBuilder::NodeInProgress GraphBuilder::start_node(const onnx::NodeProto& proto, Scope& scope) {
  SourcePlace place = read_source_place(proto);
  if (!place.is_known()) place = scope.place;
  Origin origin{scope.prefix + display_name(proto), proto.op_type(), normal_domain(proto.domain()), 0,
                std::move(place)};
  std::string what = origin.describe();
  AttributeMap attributes = resolve_attributes(proto, scope.attributes, what);
  std::vector<Value*> inputs;
  for (const std::string& name : proto.input()) inputs.push_back(name.empty() ? nullptr : find_value(scope, name));
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  return {proto, scope, std::move(origin), std::move(what), std::move(attributes), std::move(inputs), nullptr};
}

void GraphBuilder::add_node(NodeInProgress& node, const OpRow* row) {
  auto added = std::make_unique<Node>();
  added->op = row;
  added->origin = node.origin;
  added->branch = node.scope.branch;
  added->inputs = node.inputs;
  for (const std::string& name : names_in_attributes(node.proto)) {
    const std::optional<Value*> named = try_find_value(node.scope, name);
    user_check(named.has_value() && *named != nullptr, "{}: no tensor before it has the name {} of its attributes",
               node.what, quote(name));
    added->inputs.push_back(*named);
  }
  added->attributes = read_attributes(node.attributes, node.schema, tensors_, node.scope.owner, node.what);
  for (const std::string& name : node.proto.output())
    added->outputs.push_back(name.empty() ? nullptr : define_value(node.scope, name));
  if (node.schema != nullptr) infer_output_dtypes(*added, *node.schema);
  graph_->insert(std::move(added));
}

void GraphBuilder::add_constant(NodeInProgress& node) {
  const std::string& name = node.proto.output(0);
  Tensor tensor = read_constant(node.attributes, tensors_, node.scope.owner, node.what);
  node.scope.values[name] = graph_->add_constant(final_name(node.scope, name), std::move(tensor));
}

void GraphBuilder::inline_function(NodeInProgress& node, const FunctionPointer& function, AttributeMap attributes) {
  const std::string what = fmt::format("function {}", quote(function->name()));
  user_check(node.inputs.size() <= static_cast<size_t>(function->input_size()), "{}: {} has {}, and {} are given",
             node.what, what, counted(function->input_size(), "input"), node.inputs.size());
  user_check(node.proto.output_size() <= function->output_size(), "{}: {} has {}, and {} are wanted", node.what, what,
             counted(function->output_size(), "output"), node.proto.output_size());
  OpsetVersions versions = read_opset_imports(function->opset_import(), what);
  // Bodies of operators outside ai.onnx use it without importing it: the caller's version is meant.
  versions.insert(node.scope.versions->begin(), node.scope.versions->end());
  Scope inner = inner_scope(node, what);
  inner.versions = &versions;
  inner.attributes = std::move(attributes);
  inner.owner = function;
  for (int i = 0; i < function->input_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    inner.values[function->input(i)] = index < node.inputs.size() ? node.inputs[index] : nullptr;
  }
  const std::vector<std::string> formals(function->output().begin(), function->output().end());
  for (int i = 0; i < node.proto.output_size(); ++i)
    if (!node.proto.output(i).empty())
      inner.final_names[formals[static_cast<size_t>(i)]] = final_name(node.scope, node.proto.output(i));
  for (const onnx::NodeProto& each : function->node()) build_node(each, inner);
  bind_outputs(node, inner, formals);
}

GraphBuilder::Scope GraphBuilder::inner_scope(const NodeInProgress& node, const std::string& what) {
  Scope inner;
  inner.depth = node.scope.depth + 1;
  inner.branch = node.scope.branch;
  inner.place = node.origin.place;
  user_check(inner.depth <= options_.limits.max_nesting, "{}: {} nests deeper than {} levels; does it call itself?",
             node.what, what, options_.limits.max_nesting);
  // Names that grow with the nesting would cost memory without bound.
  constexpr size_t longest_prefix = 200;
  inner.prefix =
      node.origin.name.size() < longest_prefix ? node.origin.name + "/" : fmt::format("inlined{}/", node_count_);
  return inner;
}

void GraphBuilder::bind_outputs(NodeInProgress& node, const Scope& inner, const std::vector<std::string>& formals) {
  for (int i = 0; i < node.proto.output_size(); ++i) {
    const std::string& name = node.proto.output(i);
    if (name.empty()) continue;
    node.scope.values[name] = given_value(node, inner, formals[static_cast<size_t>(i)]);
  }
}

// Values.

Value* GraphBuilder::find_value(const Scope& scope, const std::string& name) const {
  const std::optional<Value*> found = try_find_value(scope, name);
  internal_check(found.has_value(), "a value that the checks of the model let through");
  return *found;
}

std::optional<Value*> GraphBuilder::try_find_value(const Scope& scope, const std::string& name) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    const auto found = at->values.find(name);
    if (found != at->values.end()) return found->second;
  }
  return std::nullopt;
}

Value* GraphBuilder::given_value(const NodeInProgress& node, const Scope& scope, const std::string& name) const {
  Value* value = find_value(scope, name);
  user_check(value != nullptr, "{}: its output {} is an input that the call does not give", node.what, quote(name));
  return value;
}

std::string GraphBuilder::final_name(const Scope& scope, const std::string& name) {
  if (&scope == &main_) return name;
  const auto known = scope.final_names.find(name);
  if (known != scope.final_names.end()) return known->second;
  return free_name(scope.prefix + name);
}

std::string GraphBuilder::free_name(const std::string& wanted) {
  if (names_.insert(wanted).second) return wanted;
  int64_t& copy = copies_.try_emplace(wanted, 1).first->second;
  std::string result;
  do result = fmt::format("{}#{}", wanted, ++copy);
  while (!names_.insert(result).second);
  return result;
}

Value* GraphBuilder::define_value(Scope& scope, const std::string& name) {
  Value* value = graph_->add_value(final_name(scope, name));
  scope.values[name] = value;
  if (&scope == &main_ || scope.final_names.contains(name)) set_declared(value);
  return value;
}

void GraphBuilder::set_declared(Value* value) {
  const auto declared = declared_.find(value->name);
  if (declared == declared_.end()) return;
  value->declared_shape = read_declared_shape(*declared->second, symbols_);
  value->declared_dtype = read_declared_dtype(*declared->second);
}

}  // namespace onnxc
