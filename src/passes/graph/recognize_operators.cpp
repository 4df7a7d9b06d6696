#include "passes/graph/recognize_operators.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <numbers>

#include "ops/algebra/einsum_spec.h"
#include "ops/network/normalization_spec.h"
#include "ops/op.h"
#include "passes/graph/insert_node.h"

namespace onnxc {
namespace {

bool same_shape(const Value& a, const Value& b) {
  return std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(), proven_equal);
}

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

// The only node that uses the value.
const Node* only_user(const Graph& graph, const Value& value) {
  return value.uses.size() == 1 && !graph.is_output(&value) ? value.uses.front().node : nullptr;
}

// Inserts a node that computes `old_result`, the first output of `old`, and replaces its uses.
void replace(Graph& graph, Node* old, std::string_view type, int version, std::vector<Value*> inputs,
             std::vector<NamedAttribute> attributes, Value* old_result) {
  Value* result = insert_node(graph, old, type, version, std::move(inputs), std::move(attributes), old_result->name,
                              old_result->dtype, *old_result->shape);
  graph.replace_uses(old_result, result);
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

bool is_number(const Value& value, double number) {
  return value.constant && value.constant->size() == 1 && is_floating(value.dtype) &&
         value.constant->as_double() == float_tensor(value.dtype, {}, {number}).as_double();
}

// The operand that a node of this type combines with one that fits, in either order (a Div takes that second); null for
// any other node.
template <std::predicate<const Value&> Fits>
Value* operand_beside(const Node* node, std::string_view type, const Fits& fits) {
  if (!is_operator(node, type)) return nullptr;
  if (fits(*node->inputs[1])) return node->inputs[0];
  return type != "Div" && fits(*node->inputs[0]) ? node->inputs[1] : nullptr;
}

// The same beside `number`, a constant of one element.
Value* operand_beside(const Node* node, std::string_view type, double number) {
  return operand_beside(node, type, [&](const Value& value) { return is_number(value, number); });
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

// For all of these factors and positions (position + 0.5) * (1 / factor) in float32, cut, is the quotient.
constexpr int64_t largest_factor = 64, longest_axis = 1 << 22;

// The whole number that a tensor of one element holds, made of constants, sizes, and their products.
std::optional<Expr> whole_number(const Value& value) {
  if (value.elements && value.elements->size() == 1) return value.elements->front();
  if (value.constant && value.constant->size() == 1 && is_floating(value.dtype)) {
    const double number = value.constant->as_double().front();
    const bool is_whole = number == std::floor(number) && std::abs(number) < 0x1p24;
    return is_whole ? std::optional(Expr(static_cast<int64_t>(number))) : std::nullopt;
  }
  if (is_operator(value.producer, "Cast")) return whole_number(*value.producer->inputs[0]);
  if (!is_operator(value.producer, "Mul")) return std::nullopt;
  const auto a = whole_number(*value.producer->inputs[0]), b = whole_number(*value.producer->inputs[1]);
  return a && b ? std::optional(*a * *b) : std::nullopt;
}

// Whether the float32 number is that nearest to 1 / factor: a constant, or the quotient of a size and a multiple.
bool is_inverse(const Value& value, int64_t factor) {
  if (value.dtype != DType::float32) return false;
  if (value.constant)
    return value.constant->size() == 1 && value.constant->values<float>().front() == 1 / static_cast<float>(factor);
  if (!is_operator(value.producer, "Div")) return false;
  const auto part = whole_number(*value.producer->inputs[0]), whole = whole_number(*value.producer->inputs[1]);
  return part && whole && proven_equal(*whole, *part * factor);
}

// (0 + 0.5, 1 + 0.5, ...) / factor, of float32.
bool are_centers(const Value& value, int64_t factor) {
  const Value* centers = operand_beside(value.producer, "Mul", [&](const Value& b) { return is_inverse(b, factor); });
  if (centers == nullptr) return false;
  const Value* range = operand_beside(centers->producer, "Add", 0.5);
  if (range == nullptr || range->dtype != DType::float32 || !is_operator(range->producer, "Range")) return false;
  return is_number(*range->producer->inputs[0], 0) && is_number(*range->producer->inputs[2], 1);
}

bool holds_quotients(const Tensor& tensor, size_t axis, int64_t factor) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < tensor.dims().size(); ++i) inner *= tensor.dims()[i];
  const std::vector<int64_t> values = tensor.as_int64();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i) / inner % tensor.dims()[axis] / factor) return false;
  return true;
}

// Whether each element is the quotient of its position along the axis and the factor.
bool holds_quotients(const Value& value, size_t axis, int64_t factor) {
  if (value.constant) return is_integer(value.dtype) && holds_quotients(*value.constant, axis, factor);
  const Node* node = value.producer;
  if (is_operator(node, "Cast"))
    return is_integer(value.dtype) && value.shape->size() == 1 && are_centers(*node->inputs[0], factor);
  const bool adds_axes = is_operator(node, "Unsqueeze"), expands = is_operator(node, "Expand");
  if (!adds_axes && !expands) return false;
  const Value& from = *node->inputs[0];
  const size_t missing = value.shape->size() - from.shape->size();
  for (size_t i = 0; i < from.shape->size(); ++i) {
    const bool is_same = proven_equal((*from.shape)[i], (*value.shape)[axis]);
    // Expand adds axes in front; an Unsqueeze of one axis of places adds them around it.
    const bool stands_for_axis = expands ? i + missing == axis : from.shape->size() == 1 || i == axis;
    if (is_same && stands_for_axis) return holds_quotients(from, i, factor);
  }
  return false;
}

// The tensors of places along each of the axes that a gather reads by a tensor; nothing if they are not apart.
std::optional<std::vector<const Value*>> places_of(const Value& places, size_t axes) {
  if (axes == 1) return std::vector<const Value*>{&places};
  const Node* concat = places.producer;
  if (!is_operator(concat, "Concat") || concat->inputs.size() != axes) return std::nullopt;
  const auto axis = std::get<int64_t>(*concat->find_attribute("axis"));
  const auto rank = static_cast<int64_t>(places.shape->size());
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  return std::vector<const Value*>(concat->inputs.begin(), concat->inputs.end());
}

// A constant grid of places, [..., axes]: the part for one axis.
Tensor part_of_grid(const Tensor& grid, size_t axes, size_t axis) {
  const std::vector<int64_t> all = grid.as_int64();
  std::vector<int64_t> values;
  for (size_t i = axis; i < all.size(); i += axes) values.push_back(all[i]);
  return Tensor::of(DType::int64, {grid.dims().begin(), grid.dims().end() - 1}, values);
}

// The whole factor by which the axis grows; nothing for an axis that is known to be longer than float32 can tell.
std::optional<int64_t> factor_of(const Expr& from, const Expr& to) {
  if (proven_at_least(to, longest_axis)) return std::nullopt;
  for (int64_t factor = 1; factor <= largest_factor; ++factor)
    if (proven_equal(to, from * factor)) return factor;
  return std::nullopt;
}

// The factors of a GatherND's first axes, if it upsamples them.
std::optional<std::vector<int64_t>> upsampled(const Node& gather) {
  const Shape &data = *gather.inputs[0]->shape, &shape = *gather.inputs[1]->shape;
  const Value& places = *gather.inputs[1];
  const Attribute* batch = gather.find_attribute("batch_dims");
  const size_t axes = shape.size() - 1;
  if ((batch != nullptr && std::get<int64_t>(*batch) != 0) || axes == 0 || axes > data.size() ||
      !shape.back().is_constant(static_cast<int64_t>(axes)))
    return std::nullopt;
  const auto apart = places.constant ? std::optional(std::vector<const Value*>()) : places_of(places, axes);
  if (!apart) return std::nullopt;
  std::vector<int64_t> factors;
  for (size_t axis = 0; axis < axes; ++axis) {
    const std::optional<int64_t> factor = factor_of(data[axis], shape[axis]);
    if (!factor) return std::nullopt;
    const bool fits = places.constant ? holds_quotients(part_of_grid(*places.constant, axes, axis), axis, *factor)
                                      : holds_quotients(*(*apart)[axis], axis, *factor);
    if (!fits) return std::nullopt;
    factors.push_back(*factor);
  }
  return factors;
}

std::vector<int64_t> permutation_of(const Node& transpose) {
  return std::get<std::vector<int64_t>>(*transpose.find_attribute("perm"));
}

void recognize_upsampling(Graph& graph, Node* gather) {
  if (gather->inputs[0]->dtype == DType::string) return;
  const std::optional<std::vector<int64_t>> factors = upsampled(*gather);
  if (!factors) return;
  // The exporter brings the axes to the front: the Resize reads what it did this to.
  Value* x = gather->inputs[0];
  const size_t rank = x->shape->size();
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  const bool is_transposed = is_operator(x->producer, "Transpose") && x->producer->find_attribute("perm") != nullptr;
  if (is_transposed) {
    order = permutation_of(*x->producer);
    x = x->producer->inputs[0];
  }
  Value* const old = gather->outputs[0];
  std::vector<float> scales(rank, 1);
  Shape shape = *x->shape;
  for (size_t i = 0; i < factors->size(); ++i) {
    const auto axis = static_cast<size_t>(order[i]);
    scales[axis] = static_cast<float>((*factors)[i]);
    shape[axis] = (*old->shape)[i];
  }
  Value* const constant =
      graph.add_constant(old->name + "/scales", Tensor::of(DType::float32, {static_cast<int64_t>(rank)}, scales));
  const std::string mode = "nearest", coordinates = "asymmetric", rounding = "floor";
  Value* const resized =
      insert_node(graph, gather, "Resize", 19, {x, nullptr, constant},
                  {{"mode", mode}, {"coordinate_transformation_mode", coordinates}, {"nearest_mode", rounding}},
                  old->name + "/resized", old->dtype, std::move(shape));
  if (!is_transposed) return graph.replace_uses(old, resized);
  // The Transpose that brings the axes back gives what the Resize does.
  for (const Use& use : std::vector<Use>(old->uses)) {
    if (!is_operator(use.node, "Transpose") || use.node->find_attribute("perm") == nullptr) continue;
    const std::vector<int64_t> back = permutation_of(*use.node);
    const auto is_back = [&](size_t i) { return order[static_cast<size_t>(back[i])] == static_cast<int64_t>(i); };
    bool cancels = graph.may_become_output(resized) || !graph.is_output(use.node->outputs[0]);
    for (size_t i = 0; i < rank; ++i) cancels = cancels && is_back(i);
    if (cancels) graph.replace_uses(use.node->outputs[0], resized);
  }
  if (!graph.is_used(old)) return;
  Value* const arranged = insert_node(graph, gather, "Transpose", 13, {resized}, {{"perm", order}},
                                      old->name + "/arranged", old->dtype, *old->shape);
  graph.replace_uses(old, arranged);
}

}  // namespace

void recognize_operators(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (is_operator(node.get(), "InstanceNormalization")) recognize_group_normalization(graph, node.get());
    if (is_operator(node.get(), "Add")) recognize_add_of_view(graph, node.get());
    if (is_operator(node.get(), "Einsum")) recognize_matrix_product(graph, node.get());
    if (is_operator(node.get(), "Erf")) recognize_gelu(graph, node.get());
    if (is_operator(node.get(), "GatherND")) recognize_upsampling(graph, node.get());
    if (is_operator(node.get(), "ReduceMean")) recognize_global_average_pool(graph, node.get());
  }
  graph.erase_unused();
}

}  // namespace onnxc
