// Builds the Graph from a model whose form has been checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "frontend/attributes.h"
#include "frontend/file/tensor_data.h"
#include "frontend/functions.h"
#include "frontend/import.h"
#include "frontend/model_checks.h"
#include "frontend/unsupported.h"
#include "frontend/value_types.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// The body of a function is built at the call, in a scope of its own: with its own names, attributes and operator-set
// versions. So a function keeps its versions when they differ from the model's, and nothing is copied before the limits
// are checked (which is why ONNX's own inliner, working on the message, is not used).
class GraphBuilder {
 public:
  GraphBuilder(std::shared_ptr<const onnx::ModelProto> model, const std::filesystem::path& folder,
               const ImportOptions& options);

  // Fails with one error for all nodes that cannot be compiled, unless they are to be kept.
  std::unique_ptr<Graph> build();
  const UnsupportedNodes& unsupported() const { return unsupported_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::vector<std::string> unused_dims() const { return symbols_.unused_bounds(); }

 private:
  // The meaning of names in a list of nodes: the model's graph, the body of a function or a branch of an If.
  struct Scope {
    const Scope* outer = nullptr;  // whose names are seen too (branches)
    const OpsetVersions* versions = nullptr;
    std::string prefix;                 // of the names of what is built here
    SourcePlace place;                  // of what calls it, for nodes that name none
    AttributeMap attributes;            // of the call
    std::shared_ptr<const void> owner;  // of the messages: tensors point into them
    int64_t depth = 0;
    std::shared_ptr<const Branch> branch;                      // that its nodes stand in
    std::unordered_map<std::string, Value*> values;            // null for an absent optional input
    std::unordered_map<std::string, std::string> final_names;  // of values that the scope outside has a name for
  };
  // A node on its way: what every step of building it needs.
  struct NodeInProgress {
    const onnx::NodeProto& proto;
    Scope& scope;
    Origin origin;
    std::string what;  // "node 'x' (Conv)"
    AttributeMap attributes;
    std::vector<Value*> inputs;
    const onnx::OpSchema* schema = nullptr;
  };

  void add_inputs();
  std::vector<std::string> choose_outputs() const;
  void add_initializers(const std::unordered_set<std::string>& needed);
  void add_outputs(const std::vector<std::string>& names);
  Value* add_identity(Value* value, const std::string& name);

  void build_node(const onnx::NodeProto& proto, Scope& scope);
  void build_operator(NodeInProgress& node);
  void add_unsupported(NodeInProgress& node);
  bool exists(NodeInProgress& node);
  NodeInProgress start_node(const onnx::NodeProto& proto, Scope& scope);
  void add_node(NodeInProgress& node, const OpRow* row);
  void add_constant(NodeInProgress& node);
  void inline_function(NodeInProgress& node, const FunctionPointer& function, AttributeMap attributes);
  // Control flow (graph_builder_control_flow.cpp): subgraphs are built in place; false for another operator.
  bool build_control_flow(NodeInProgress& node);
  bool inline_branch(NodeInProgress& node);
  void build_if(NodeInProgress& node);
  std::vector<Value*> build_branch(NodeInProgress& node, const std::string& attribute, bool when);
  void build_loop(NodeInProgress& node);
  void build_scan(NodeInProgress& node);
  void build_batched_scan(NodeInProgress& node);
  void build_sequence_map(NodeInProgress& node);
  // The parts that a Loop and a Scan have in common.
  struct LoopParts {
    const onnx::GraphProto& body;
    size_t carried;
    std::vector<Value*> begin_inputs;        // as ops/control/control_flow.h says
    std::vector<std::string> begin_outputs;  // names in the body of what LoopBegin gives; "" for none
    bool has_condition;                      // the body's first output
    std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  };
  void build_rounds(NodeInProgress& node, const LoopParts& parts);
  void build_body(const onnx::GraphProto& body, const NodeInProgress& node, Scope& inner);
  Scope subgraph_scope(const NodeInProgress& node, const std::string& what);
  Node* add_row(const NodeInProgress& node, std::string_view domain, std::string_view row, std::vector<Value*> inputs,
                std::vector<Value*> outputs);
  Value* own_value(const NodeInProgress& node, Value* value, const Scope& scope);
  Scope inner_scope(const NodeInProgress& node, const std::string& what);
  void bind_outputs(NodeInProgress& node, const Scope& inner, const std::vector<std::string>& formals);

  // Null for an input of a function that its call leaves out.
  Value* find_value(const Scope& scope, const std::string& name) const;
  std::optional<Value*> try_find_value(const Scope& scope, const std::string& name) const;
  // An output of a subgraph or function; fails if it is such an input.
  Value* given_value(const NodeInProgress& node, const Scope& scope, const std::string& name) const;
  // The name in the graph for a value that a scope calls `name`.
  std::string final_name(const Scope& scope, const std::string& name);
  Value* define_value(Scope& scope, const std::string& name);
  void set_declared(Value* value);

  std::shared_ptr<const onnx::ModelProto> model_;
  const ImportOptions& options_;
  std::unique_ptr<Graph> graph_;
  TensorReader tensors_;
  SymbolTable symbols_;
  LocalFunctions functions_;
  OpsetVersions versions_;
  UnsupportedNodes unsupported_;
  std::vector<std::string> warnings_;
  Scope main_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> declared_;
  // `wanted`, or `wanted#2`, `wanted#3` and so on if that is taken.
  std::string free_name(const std::string& wanted);

  std::unordered_set<std::string> names_;            // that values of the graph have, or will have
  std::unordered_map<std::string, int64_t> copies_;  // of a name, the number that was given last
  int64_t node_count_ = 0;
};

}  // namespace onnxc
