#include "passes/recognition/recognize_operators.h"

#include <algorithm>
#include <cstring>
#include <numbers>

#include "ops/algebra/einsum_spec.h"
#include "ops/network/normalization_spec.h"
#include "ops/op.h"
#include "passes/graph/insert_node.h"
#include "passes/recognition/graph_pattern.h"
#include "passes/recognition/recognize_attention.h"
#include "passes/recognition/recognize_upsampling.h"

namespace onnxc {
namespace {

// The dims of `other`, which broadcasts to `viewed`, in a tensor of `shape`: equal to `viewed` but for axes of 1.
// Nothing if the two differ in more, or if a dim is not constant.
std::optional<std::vector<int64_t>> dims_without_view(const Shape& shape, const Shape& viewed, const Shape& other) {
  const auto axes = axes_but_ones(shape, viewed);
  if (!axes) return std::nullopt;
  const size_t missing = viewed.size() - other.size();
  std::vector<int64_t> dims;
  for (const std::optional<size_t>& axis : *axes) {
    const std::optional<int64_t> size = !axis || *axis < missing ? 1 : other[*axis - missing].constant();
    if (!size) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

// An element for each channel instead of each group.
Value* repeat(Graph& graph, const Value& parameter, int64_t times) {
  const Tensor& tensor = *parameter.constant;
  const auto size = static_cast<size_t>(element_size(tensor.dtype()));
  Tensor repeated = Tensor::zeros(tensor.dtype(), {checked_multiply(tensor.size(), times)});
  std::byte* to = repeated.mutable_bytes();
  for (size_t from = 0; from < tensor.bytes().size(); from += size)
    for (int64_t i = 0; i < times; ++i, to += size) std::memcpy(to, &tensor.bytes()[from], size);
  return graph.add_constant(parameter.name + "/repeated", std::move(repeated));
}

void recognize_group_normalization(Graph& graph, Node* normalization) {
  const Node* before = normalization->inputs[0]->producer;
  const Node* after = only_user(graph, *normalization->outputs[0]);
  if (!is_operator(before, "Reshape") || !is_operator(after, "Reshape")) return;
  Value* x = before->inputs[0];
  const Shape& shape = *x->shape;
  const Shape& grouped = *normalization->inputs[0]->shape;
  if (shape.size() < 3 || grouped.size() != 3 || !same_shape(*x, *after->outputs[0])) return;
  const std::optional<int64_t> channels = shape[1].constant(), groups = grouped[1].constant();
  if (!channels || !groups || *groups == 0 || *channels % *groups != 0 || !proven_equal(shape[0], grouped[0])) return;
  std::vector<Value*> inputs{x};
  for (size_t i : {size_t{1}, size_t{2}}) {
    const Value* parameter = normalization->inputs[i];
    if (!parameter->constant) return;
    inputs.push_back(repeat(graph, *parameter, *channels / *groups));
  }
  const float epsilon = epsilon_of(NodeReader(*normalization));
  replace(graph, normalization, "GroupNormalization", 21, std::move(inputs),
          {{"num_groups", *groups}, {"epsilon", epsilon}}, after->outputs[0]);
}

// A Reshape of the value, before a node and under its condition.
Value* reshape(Graph& graph, Value* value, const std::vector<int64_t>& dims, const Node* before) {
  const std::vector<int64_t> rank{std::ssize(dims)};
  Value* constant = graph.add_constant(value->name + "/dims", Tensor::of(DType::int64, rank, dims));
  return insert_node(graph, before, "Reshape", 21, {value, constant}, {}, value->name + "/reshaped", value->dtype,
                     Shape(dims.begin(), dims.end()));
}

void recognize_add_of_view(Graph& graph, Node* add) {
  const Node* after = only_user(graph, *add->outputs[0]);
  if (!is_operator(after, "Reshape")) return;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* before = add->inputs[side]->producer;
    if (!is_operator(before, "Reshape")) continue;
    Value *x = before->inputs[0], *other = add->inputs[1 - side];
    if (!same_shape(*x, *after->outputs[0]) || !same_shape(*add->inputs[side], *add->outputs[0])) continue;
    const auto dims = dims_without_view(*x->shape, *add->outputs[0]->shape, *other->shape);
    if (!dims) continue;
    std::vector<Value*> inputs{x, reshape(graph, other, *dims, add)};
    if (side == 1) std::swap(inputs[0], inputs[1]);
    replace(graph, add, "Add", add->origin.version, std::move(inputs), {}, after->outputs[0]);
    return;
  }
}

void recognize_global_average_pool(Graph& graph, Node* mean) {
  const NodeReader reader(*mean);
  const size_t rank = reader.rank(0);
  if (rank < 3 || !is_floating(reader.dtype(0)) || reader.integer("keepdims", 1) == 0) return;
  const std::optional<std::vector<Expr>> axes = reader.integers_from(1, "axes");
  if (!axes || axes->size() != rank - 2) return;
  std::vector<bool> folded(rank, false);
  for (const Expr& axis : *axes) {
    if (!axis.constant()) return;
    folded[reader.axis(*axis.constant(), rank)] = true;
  }
  if (folded[0] || folded[1]) return;
  replace(graph, mean, "GlobalAveragePool", 22, {mean->inputs[0]}, {}, mean->outputs[0]);
}

// The axes of an Einsum that is a matrix product: those of the batch, one of rows, of columns, and one that is summed.
struct NamedProduct {
  AxisLabels batch, rows, columns, depth;
};

std::optional<NamedProduct> as_product(const EinsumSpec& spec) {
  if (spec.inputs.size() != 2) return std::nullopt;
  const auto &a = spec.inputs[0], &b = spec.inputs[1];
  const auto holds = [](const AxisLabels& labels, char label) { return labels.find(label) != AxisLabels::npos; };
  NamedProduct product;
  for (const char label : spec.output)
    (holds(a, label) && holds(b, label) ? product.batch : holds(a, label) ? product.rows : product.columns) += label;
  for (const char label : a) {
    if (holds(spec.output, label)) continue;
    if (!holds(b, label)) return std::nullopt;
    product.depth += label;
  }
  // An axis that only b sums, or one that a term names twice, makes a term longer than its part of the product.
  const size_t rank = product.batch.size() + 2;
  const bool is_product = product.rows.size() == 1 && product.columns.size() == 1 && product.depth.size() == 1 &&
                          a.size() == rank && b.size() == rank;
  return is_product ? std::optional(product) : std::nullopt;
}

// The value with its axes in another order.
Value* arranged(Graph& graph, Value* value, const AxisLabels& from, const AxisLabels& to, const Node* before) {
  if (from == to) return value;
  std::vector<int64_t> permutation;
  Shape shape;
  for (const char label : to) {
    permutation.push_back(static_cast<int64_t>(from.find(label)));
    shape.push_back((*value->shape)[from.find(label)]);
  }
  return insert_node(graph, before, "Transpose", 13, {value}, {{"perm", permutation}}, value->name + "/arranged",
                     value->dtype, std::move(shape));
}

void recognize_matrix_product(Graph& graph, Node* einsum) {
  const EinsumSpec spec = resolve_einsum(NodeReader(*einsum));
  const std::optional<NamedProduct> product = as_product(spec);
  if (!product || !is_floating(einsum->inputs[0]->dtype)) return;
  Value *a = einsum->inputs[0], *b = einsum->inputs[1], *output = einsum->outputs[0];
  const auto extent = [&](const Value& value, const AxisLabels& labels, char label) -> const Expr& {
    return (*value.shape)[labels.find(label)];
  };
  // Einsum broadcasts along each axis.
  for (const char label : product->batch + product->depth)
    if (!proven_equal(extent(*a, spec.inputs[0], label), extent(*b, spec.inputs[1], label))) return;
  const auto& [batch, rows, columns, depth] = *product;
  std::vector<Value*> operands{arranged(graph, a, spec.inputs[0], batch + rows + depth, einsum),
                               arranged(graph, b, spec.inputs[1], batch + depth + columns, einsum)};
  const AxisLabels labels = batch + rows + columns;
  if (labels == spec.output) return replace(graph, einsum, "MatMul", 13, std::move(operands), {}, output);
  Shape shape;
  for (const char label : labels) shape.push_back(extent(*output, spec.output, label));
  Value* result = insert_node(graph, einsum, "MatMul", 13, std::move(operands), {}, output->name + "/product",
                              output->dtype, std::move(shape));
  graph.replace_uses(output, arranged(graph, result, labels, spec.output, einsum));
}

void recognize_gelu(Graph& graph, Node* erf) {
  const Node* scaled = erf->inputs[0]->producer;
  Value* x = operand_beside(scaled, "Div", std::numbers::sqrt2);
  if (x == nullptr) x = operand_beside(scaled, "Mul", 1 / std::numbers::sqrt2);
  const Node* sum = only_user(graph, *erf->outputs[0]);
  if (x == nullptr || operand_beside(sum, "Add", 1) != erf->outputs[0]) return;
  const Node* product = only_user(graph, *sum->outputs[0]);
  if (!is_operator(product, "Mul")) return;
  Value* factor = product->inputs[product->inputs[0] == sum->outputs[0] ? 1 : 0];
  if (factor == x) {
    const Node* half = only_user(graph, *product->outputs[0]);
    if (operand_beside(half, "Mul", 0.5) != product->outputs[0]) return;
    product = half;
  } else if (operand_beside(factor->producer, "Mul", 0.5) != x) {
    return;
  }
  if (same_shape(*x, *product->outputs[0])) replace(graph, erf, "Gelu", 20, {x}, {}, product->outputs[0]);
}

}  // namespace

void recognize_operators(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (is_operator(node.get(), "InstanceNormalization")) recognize_group_normalization(graph, node.get());
    if (is_operator(node.get(), "Add")) recognize_add_of_view(graph, node.get());
    if (is_operator(node.get(), "Einsum")) recognize_matrix_product(graph, node.get());
    if (is_operator(node.get(), "Erf")) recognize_gelu(graph, node.get());
    if (is_operator(node.get(), "MatMul")) recognize_attention(graph, node.get());
    if (is_operator(node.get(), "GatherND")) recognize_upsampling(graph, node.get());
    if (is_operator(node.get(), "ReduceMean")) recognize_global_average_pool(graph, node.get());
  }
  graph.erase_unused();
}

}  // namespace onnxc
