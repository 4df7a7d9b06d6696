#include "passes/graph/fold_constants.h"

#include <algorithm>

#include "ir/loops/scalar_arithmetic.h"
#include "passes/graph/define_node.h"
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

// The tensor that the elements of a value are, when all are numbers.
std::optional<Tensor> elements_as_tensor(const Value& value) {
  std::optional<std::vector<int64_t>> dims = constant_dims(*value.shape);
  if (!value.elements || !dims) return std::nullopt;
  Tensor tensor = Tensor::zeros(value.dtype, *dims);
  internal_check(tensor.size() == static_cast<int64_t>(value.elements->size()), "as many elements as the shape says");
  const StoreFunction store = store_function(value.dtype);
  std::byte* to = tensor.mutable_bytes();
  for (const Expr& element : *value.elements) {
    if (!element.constant()) return std::nullopt;
    store(to, {.integer = *element.constant()});
    to += element_size(value.dtype);
  }
  return tensor;
}

void replace_by_constant(Graph& graph, Value* value, Tensor tensor) {
  graph.replace_uses(value, graph.add_constant(value->name, std::move(tensor)));
}

int64_t bytes_of_constants(const Graph& graph) {
  int64_t sum = 0;
  for (const auto& value : graph.values())
    if (value->constant) sum = checked_add(sum, static_cast<int64_t>(value->constant->bytes().size()));
  return sum;
}

// What all nodes may still use.
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

void fold_node(Graph& graph, const Node& node, const FoldLimits& limits, Left& left) {
  std::vector<Value*> outputs = distinct_outputs(node);
  if (is_worth_folding(node, limits)) {
    take_bytes_of_results(node, limits, left);
    if (std::optional<std::vector<Tensor>> results = compute_constant_outputs(node, limits.maximum_steps, left.steps)) {
      for (size_t i = 0; i < outputs.size(); ++i) replace_by_constant(graph, outputs[i], (*results)[i]);
      return;
    }
  }
  for (Value* output : outputs)
    if (std::optional<Tensor> tensor = elements_as_tensor(*output)) replace_by_constant(graph, output, *tensor);
}

}  // namespace

void fold_constants(Graph& graph, const FoldLimits& limits) {
  Left left{limits.total_steps, limits.all_constants_bytes - bytes_of_constants(graph)};
  for (const auto& node : graph.nodes()) fold_node(graph, *node, limits, left);
  graph.erase_unused();
}

}  // namespace onnxc
