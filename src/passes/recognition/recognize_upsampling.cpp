#include "passes/recognition/recognize_upsampling.h"

#include <cmath>

#include "ops/op.h"
#include "passes/graph/insert_node.h"
#include "passes/recognition/graph_pattern.h"

namespace onnxc {
namespace {

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

}  // namespace

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

}  // namespace onnxc
