#include "frontend/model_checks.h"

#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/attributes.h"
#include "frontend/file/onnx_names.h"
#include "onnx/defs/schema.h"
#include "support/count_text.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
// Views into the model: it outlives the checks.
using Names = std::unordered_set<std::string_view>;

// Walks one model; counts what the limits bound.
class ModelChecker {
 public:
  explicit ModelChecker(const Limits& limits) : limits_(limits) {}

  void check_graph(const onnx::GraphProto& graph, const std::string& what, const std::vector<const Names*>& outer);
  void check_function(const onnx::FunctionProto& function, const std::string& what);

 private:
  // Checks the nodes in order; `known` gains the values they make. `outer` are the names of the graphs around.
  void check_nodes(const Nodes& nodes, const std::string& what, Names& known, std::vector<const Names*> outer);
  void check_attributes(const onnx::NodeProto& node, const std::vector<const Names*>& scopes);

  const Limits& limits_;
  int64_t node_count_ = 0;
};

void add_name(Names& names, const std::string& name, const std::string& kind, const std::string& what) {
  user_check(!name.empty(), "{} has an {} without a name", what, kind);
  user_check(names.insert(name).second, "{}: the name {} is given to two values", what, quote(name));
}

bool is_known(const std::string& name, const std::vector<const Names*>& scopes) {
  for (const Names* scope : scopes)
    if (scope->contains(name)) return true;
  return false;
}

using Producers = std::unordered_map<std::string_view, const onnx::NodeProto*>;

Producers find_producers(const Nodes& nodes) {
  Producers producers;
  for (const onnx::NodeProto& node : nodes)
    for (const std::string& output : node.output()) producers.emplace(output, &node);
  return producers;
}

// Follows producers back from a node that uses a value before it is made: when the walk along the inputs comes back to
// the node, the way is the cycle. Empty if there is none.
std::vector<const onnx::NodeProto*> find_cycle(const onnx::NodeProto& start, const Producers& producers) {
  // Breadth first, so that the cycle is a shortest one.
  std::vector<const onnx::NodeProto*> queue = {&start};
  std::unordered_map<const onnx::NodeProto*, const onnx::NodeProto*> user_of = {{&start, nullptr}};
  for (size_t head = 0; head < queue.size(); ++head) {
    for (const std::string& input : queue[head]->input()) {
      const auto found = producers.find(input);
      if (found == producers.end()) continue;
      if (found->second == &start) {
        std::vector<const onnx::NodeProto*> cycle;
        for (const onnx::NodeProto* node = queue[head]; node != nullptr; node = user_of[node]) cycle.push_back(node);
        return cycle;
      }
      if (user_of.emplace(found->second, queue[head]).second) queue.push_back(found->second);
    }
  }
  return {};
}

// Why an input is not known yet.
[[noreturn]] void fail_unknown_input(const onnx::NodeProto& node, const std::string& input, const Nodes& nodes,
                                     const std::string& what) {
  const Producers producers = find_producers(nodes);
  const auto producer = producers.find(input);
  if (producer == producers.end())
    user_error("{}: its input {} is not made by a node, and is not an input or initializer of {}", describe(node),
               quote(input), what);
  const std::vector<const onnx::NodeProto*> cycle = find_cycle(node, producers);
  if (cycle.empty())
    user_error("{} uses {} before {} makes it; the nodes of {} must be in topological order", describe(node),
               quote(input), describe(*producer->second), what);
  constexpr size_t most_shown = 8;
  std::string path;
  for (size_t i = 0; i < cycle.size() && i < most_shown; ++i) path += describe(*cycle[i]) + " -> ";
  if (cycle.size() > most_shown) path += "... -> ";
  user_error("{}: a cycle of {}: {}{}", what, counted(cycle.size(), "node"), path, describe(*cycle[0]));
}

void ModelChecker::check_attributes(const onnx::NodeProto& node, const std::vector<const Names*>& scopes) {
  Names names;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    user_check(!attribute.name().empty(), "{} has an attribute without a name", describe(node));
    user_check(names.insert(attribute.name()).second, "{} has the attribute {} twice", describe(node),
               quote(attribute.name()));
    check_filled_field(attribute, describe(node));
    const std::string what = fmt::format("the subgraph {} of {}", quote(attribute.name()), describe(node));
    if (attribute.has_g()) check_graph(attribute.g(), what, scopes);
    for (const onnx::GraphProto& graph : attribute.graphs()) check_graph(graph, what, scopes);
  }
}

void ModelChecker::check_nodes(const Nodes& nodes, const std::string& what, Names& known,
                               std::vector<const Names*> outer) {
  outer.push_back(&known);
  for (const onnx::NodeProto& node : nodes) {
    user_check(++node_count_ <= limits_.max_nodes, "the model has more than {} nodes (--max-nodes)", limits_.max_nodes);
    user_check(!node.op_type().empty(), "{}: node {} has no operator type", what, quote(display_name(node)));
    for (const std::string& input : node.input())
      if (!input.empty() && !is_known(input, outer)) fail_unknown_input(node, input, nodes, what);
    check_attributes(node, outer);
    for (const std::string& output : node.output()) {
      user_check(output.empty() || known.insert(output).second,
                 "{}: its output {} has the name of another value; every value is made once", describe(node),
                 quote(output));
    }
  }
}

void ModelChecker::check_graph(const onnx::GraphProto& graph, const std::string& what,
                               const std::vector<const Names*>& outer) {
  user_check(static_cast<int64_t>(outer.size()) <= limits_.max_nesting, "{} nests deeper than {} levels", what,
             limits_.max_nesting);
  Names inputs, initializers;
  for (const onnx::ValueInfoProto& input : graph.input()) add_name(inputs, input.name(), "input", what);
  for (const onnx::TensorProto& tensor : graph.initializer())
    add_name(initializers, tensor.name(), "initializer", what);
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
    add_name(initializers, tensor.values().name(), "initializer", what);

  Names known = inputs;
  known.insert(initializers.begin(), initializers.end());  // an initializer may also stand among the inputs
  check_nodes(graph.node(), what, known, outer);

  std::vector<const Names*> scopes = outer;
  scopes.push_back(&known);
  Names outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) {
    add_name(outputs, output.name(), "output", what);
    user_check(is_known(output.name(), scopes), "{}: its output {} is made by no node", what, quote(output.name()));
  }
}

void ModelChecker::check_function(const onnx::FunctionProto& function, const std::string& what) {
  Names known;
  for (const std::string& input : function.input()) add_name(known, input, "input", what);
  check_nodes(function.node(), what, known, {});
  for (const std::string& output : function.output())
    user_check(known.contains(output), "{}: its output {} is made by no node", what, quote(output));
}

}  // namespace

OpsetVersions read_opset_imports(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                                 const std::string& what) {
  const auto& known_ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  OpsetVersions versions;
  for (const onnx::OperatorSetIdProto& import : imports) {
    const std::string domain = normal_domain(import.domain());
    const int64_t version = import.version();
    // skl2onnx writes the same one twice.
    const auto [imported, is_new] = versions.emplace(domain, version);
    user_check(is_new || imported->second == version,
               "{} imports the operator set {} twice, as version {} and as version {}; one is expected", what,
               domain_text(domain), imported->second, version);
    user_check(version >= 1, "{} imports version {} of the operator set {}; versions start at 1", what, version,
               domain_text(domain));
    const auto range = known_ranges.find(domain);
    user_check(range == known_ranges.end() || version <= range->second.second,
               "{} imports version {} of the operator set {}, and the newest known is {}; export the model with an "
               "older opset_version",
               what, version, domain_text(domain), range == known_ranges.end() ? 0 : range->second.second);
  }
  return versions;
}

OpsetVersions read_opset_imports(const onnx::ModelProto& model) {
  if (model.ir_version() < 3 && model.opset_import().empty()) return {{"", 1}};
  user_check(!model.opset_import().empty(), "the model imports no operator set (opset_import), or is cut short");
  return read_opset_imports(model.opset_import(), "the model");
}

void check_model(const onnx::ModelProto& model, const Limits& limits) {
  user_check(model.ir_version() >= 1, "the model has the IR version {}; versions start at 1", model.ir_version());
  user_check(model.ir_version() <= onnx::Version::IR_VERSION,
             "the model has IR version {}, and the newest known is {}; export it with an older one", model.ir_version(),
             static_cast<int>(onnx::Version::IR_VERSION));
  read_opset_imports(model);

  ModelChecker checker(limits);
  std::set<std::tuple<std::string, std::string, std::string>> ids;
  for (const onnx::FunctionProto& function : model.functions()) {
    const std::string what = fmt::format("function {}", quote(function.name()));
    user_check(ids.emplace(normal_domain(function.domain()), function.name(), function.overload()).second,
               "{} of domain {} is defined twice", what, domain_text(normal_domain(function.domain())));
    checker.check_function(function, what);
  }
  checker.check_graph(model.graph(), "the graph", {});
}

}  // namespace onnxc
