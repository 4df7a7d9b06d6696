// Operators on quantised tensors, as an operator on integers or on numbers between a conversion before and after.
#include "ops/families.h"

namespace onnxc {
namespace {

constexpr auto float_type = static_cast<int64_t>(DType::float32);

Value* as_float(ExpandContext& c, Value* value) {
  return value->dtype == DType::float32 ? value : c.add("Cast", {value}, {{"to", float_type}});
}

Value* reshaped(ExpandContext& c, Value* value, std::vector<int64_t> dims) {
  return c.add("Reshape", {value, c.integers(std::move(dims))});
}

// Sums of products in 32 bits, as integers of y's scale: saturate(round(sum * (x_scale * w_scale / y_scale)) + zero).
// The factor is computed first, as onnxruntime does.
Value* requantized(ExpandContext& c, Value* sum, Value* x_scale, Value* w_scale, Value* y_scale, Value* y_zero) {
  Value* factor = c.add("Mul", {as_float(c, x_scale), as_float(c, w_scale)});
  factor = c.add("Div", {factor, as_float(c, y_scale)});
  Value* scaled = c.add("Mul", {c.add("Cast", {sum}, {{"to", float_type}}), factor});
  return c.add("QuantizeLinear", {scaled, c.number(DType::float32, 1), y_zero});
}

// A vector with an element an output channel, before the spatial axes.
Value* by_channel(ExpandContext& c, Value* value, size_t spatial_axes) {
  if (value->shape->empty()) return value;
  std::vector<int64_t> dims(1 + spatial_axes, 1);
  dims[0] = -1;
  return reshaped(c, value, dims);
}

// ONNX QLinearConv 10: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias.
void expand_qlinear_conv(ExpandContext& c) {
  c.check(c.rank(0) >= 3, "an input of rank 3 or more is expected, found {}", short_text(c.shape(0)));
  const size_t spatial_axes = c.rank(0) - 2;
  Value* sum = c.add("ConvInteger", {c.in(0), c.in(3), c.in(2), c.in(5)}, c.node().attributes);
  if (c.has_input(8)) {
    c.check(c.dtype(8) == DType::int32, "the bias must be of int32, found {}", info(c.dtype(8)).name);
    sum = c.add("Add", {sum, by_channel(c, c.in(8), spatial_axes)});
  }
  // One number as a vector of one would give the result an axis more.
  Value *x_scale = reshaped(c, c.in(1), {}), *y_scale = reshaped(c, c.in(6), {});
  c.give(0, requantized(c, sum, x_scale, by_channel(c, c.in(4), spatial_axes), y_scale, c.in(7)));
}

// A scale for each row of a left operand, given as a vector, before the columns.
Value* by_row(ExpandContext& c, Value* scale) {
  return scale->shape->size() == 1 ? reshaped(c, scale, {-1, 1}) : scale;
}

// ONNX QLinearMatMul 21: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
void expand_qlinear_matmul(ExpandContext& c) {
  Value* sum = c.add("MatMulInteger", {c.in(0), c.in(3), c.in(2), c.in(5)});
  Value* a_scale = c.rank(0) == 1 ? reshaped(c, c.in(1), {}) : c.rank(3) == 1 ? c.in(1) : by_row(c, c.in(1));
  Value* b_scale = c.rank(3) > 1 ? c.in(4) : reshaped(c, c.in(4), {});
  c.give(0, requantized(c, sum, a_scale, b_scale, reshaped(c, c.in(6), {}), c.in(7)));
}

constexpr OpRow rows[] = {
    {.domain = "", .name = "QLinearConv", .expand = expand_qlinear_conv},
    {.domain = "", .name = "QLinearMatMul", .expand = expand_qlinear_matmul},
};

}  // namespace

std::span<const OpRow> qlinear_ops() { return rows; }

}  // namespace onnxc
