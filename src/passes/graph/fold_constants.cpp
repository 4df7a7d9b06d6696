#include "passes/graph/fold_constants.h"

#include <algorithm>

#include "passes/graph/apply_size_rules.h"
#include "passes/graph/define_node.h"
#include "passes/graph/infer_shapes.h"
#include "support/checked.h"

namespace onnxc {
namespace {

// The bytes of a value; nothing when its shape is symbolic.
std::optional<int64_t> byte_size(const Value& value) {
  std::optional<std::vector<int64_t>> dims = constant_dims(*value.shape);
  if (!dims) return std::nullopt;
  return checked_multiply(checked_product(*dims), element_size(value.dtype));
}

bool is_worth_folding(const Node& node, const FoldLimits& limits) {
  int64_t from = 0, to = 0;
  for (const Value* input : distinct_inputs(node)) {
    if (!input->constant) return false;
    from = checked_add(from, static_cast<int64_t>(input->constant->bytes().size()));
  }
  for (const Value* output : distinct_outputs(node)) {
    std::optional<int64_t> bytes = byte_size(*output);
    if (!bytes) return false;
    to = checked_add(to, *bytes);
  }
  if (to <= limits.always_bytes) return true;
  return to <= limits.maximum_bytes && to / limits.maximum_growth <= from;
}

// Whether shape inference left sizes to the run that this value decides.
bool decides_sizes(const Value& value) {
  return value.elements_at_run_time ||
         std::ranges::any_of(value.uses, [](const Use& use) { return !use.node->bound_symbols.empty(); });
}

// Puts constants in the place of values.
class Replacer {
 public:
  explicit Replacer(Graph& graph) : graph_(graph) {}

  void replace(Value* value, Tensor tensor) {
    decides_sizes_ |= decides_sizes(*value);
    // The branches that ask it name it, not its uses.
    if (value->elements_at_run_time) value->constant = tensor;
    graph_.replace_uses(value, graph_.add_constant(value->name, std::move(tensor)));
  }

  bool has_decided_sizes() const { return decides_sizes_; }

 private:
  Graph& graph_;
  bool decides_sizes_ = false;
};

int64_t bytes_of_constants(const Graph& graph) {
  int64_t sum = 0;
  for (const auto& value : graph.values())
    if (value->constant) sum = checked_add(sum, static_cast<int64_t>(value->constant->bytes().size()));
  return sum;
}

// The budget that is left for all nodes.
struct Left {
  int64_t steps, bytes;
};

// Before they are computed.
void take_bytes_of_results(const Node& node, const FoldLimits& limits, Left& left) {
  int64_t bytes = 0;
  for (const Value* output : distinct_outputs(node)) bytes = checked_add(bytes, byte_size(*output).value());
  user_check(bytes <= left.bytes,
             "{}: its constant result needs {} bytes, the constants before it {}, and the limit "
             "is {} (--max-memory)",
             node.describe(), bytes, limits.all_constants_bytes - left.bytes, limits.all_constants_bytes);
  left.bytes -= bytes;
}

void fold_node(const Node& node, const FoldLimits& limits, Left& left, Replacer& replacer) {
  std::vector<Value*> outputs = distinct_outputs(node);
  if (is_worth_folding(node, limits)) {
    take_bytes_of_results(node, limits, left);
    std::vector<Tensor> inputs;
    for (const Value* input : distinct_inputs(node)) inputs.push_back(*input->constant);
    if (std::optional<std::vector<Tensor>> results = compute_outputs(node, inputs, limits.maximum_steps, left.steps)) {
      for (size_t i = 0; i < outputs.size(); ++i) replacer.replace(outputs[i], (*results)[i]);
      return;
    }
  }
  for (Value* output : outputs)
    if (std::optional<Tensor> tensor = known_tensor(*output)) replacer.replace(output, *tensor);
}

// Whether a value became a constant that decides sizes.
bool fold_nodes(Graph& graph, const FoldLimits& limits, Left& left) {
  Replacer replacer(graph);
  for (const auto& node : graph.nodes()) fold_node(*node, limits, left, replacer);
  return replacer.has_decided_sizes();
}

}  // namespace

void fold_constants(Graph& graph, const FoldLimits& limits) {
  Left left{limits.total_steps, limits.all_constants_bytes - bytes_of_constants(graph)};
  while (fold_nodes(graph, limits, left)) {
    infer_shapes_again(graph);
    apply_size_rules(graph);
    graph.erase_unused();
  }
  graph.erase_unused();
}

}  // namespace onnxc
