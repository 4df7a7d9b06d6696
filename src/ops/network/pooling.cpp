// Pools: a window slides over the spatial axes of [N, C, spatial...].
#include <algorithm>

#include "ops/families.h"
#include "ops/network/conv_spec.h"

namespace onnxc {
namespace {

void infer_pool(InferContext& c) {
  ConvSpec spec = resolve_pool(c);
  Shape shape{spec.batch, spec.input_channels};
  for (const WindowAxis& axis : spec.axes) {
    c.at_least(axis.output, 0, "the kernel must fit into the padded input");
    shape.push_back(axis.output);
  }
  c.output(0, c.dtype(0), shape);
  c.output(1, DType::int64, shape);
}

// The window of one output element: the place that it reads, and whether that is inside the input.
struct Window {
  std::vector<Expr> index;  // of the input
  Scalar inside;            // empty when always
};

Window window_at(const ConvSpec& spec, const std::vector<Expr>& out, const std::vector<Expr>& taps) {
  Window window{{out[0], out[1]}, {}};
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    Expr position = out[2 + i] * axis.stride + taps[i] * axis.dilation - axis.pad_begin;
    window.inside = both(window.inside, within(position, axis.input));
    window.index.push_back(position);
  }
  return window;
}

Shape kernel_shape(const ConvSpec& spec) {
  Shape shape;
  for (const WindowAxis& axis : spec.axes) shape.push_back(axis.kernel);
  return shape;
}

Scalar lowest(DType dtype) {
  switch (dtype) {
    case DType::int8:
      return scalar::integer_constant(dtype, INT8_MIN);
    case DType::uint8:
      return scalar::integer_constant(dtype, 0);
    default:
      return scalar::constant(dtype, -std::numeric_limits<double>::infinity());
  }
}

// The position of an input element in the flattened tensor, or with storage_order 1 with the last two axes' strides
// column-major (ONNX MaxPool 8, Indices).
Expr flat_position(const NodeReader& c, const Shape& shape, const std::vector<Expr>& index) {
  std::vector<size_t> order;
  for (size_t i = 0; i < shape.size(); ++i) order.push_back(i);
  if (c.integer("storage_order", 0) != 0) std::reverse(order.begin() + 2, order.end());
  Expr flat = 0;
  for (size_t axis : order) flat = flat * shape[axis] + index[axis];
  return flat;
}

// The window's element inside the input that is nearest to a tap: if a whole window has the lowest possible value, so
// have the taps in the padding, and the first of them stands for the first element.
std::vector<Expr> nearest_inside(const ConvSpec& spec, const std::vector<Expr>& out, const std::vector<Expr>& taps) {
  std::vector<Expr> index{out[0], out[1]};
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    const Expr start = out[2 + i] * axis.stride - axis.pad_begin;
    const Expr first = max(ceil_div(-start, axis.dilation), 0);
    const Expr last = ceil_div(axis.input - start, axis.dilation) - 1;
    index.push_back(start + min(max(taps[i], first), last) * axis.dilation);
  }
  return index;
}

// Padding never wins: a window element outside of the input is skipped.
void define_max_pool(DefineContext& c) {
  ConvSpec spec = resolve_pool(c);
  Operand x = c.in(0);
  NestBuilder nest("max_pool");
  std::vector<Expr> out = nest.parallel(c.node().outputs[0] ? c.out(0).shape : c.out(1).shape);
  std::vector<Expr> taps = nest.reduce(kernel_shape(spec));
  Window window = window_at(spec, out, taps);
  Scalar element = scalar::select(window.inside, x(window.index), lowest(x.dtype));
  if (c.has_output(0)) nest.store(c.out(0), out, nest.accumulate(ReduceKind::maximum, element));
  if (c.has_output(1)) {
    Scalar position = nest.accumulate(ReduceKind::argument_maximum, element,
                                      flat_position(c, x.shape, nearest_inside(spec, out, taps)));
    nest.store(c.out(1), out, position);
  }
  c.emit(std::move(nest));
}

// The number of window elements that count: those inside the input, or with count_include_pad those inside its padding
// too (the overhang of ceil_mode counts in neither case).
Expr window_count(const ConvSpec& spec, const std::vector<Expr>& out, bool include_pad) {
  Expr count = 1;
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const WindowAxis& axis = spec.axes[i];
    Expr start = out[2 + i] * axis.stride - axis.pad_begin;
    Expr low = include_pad ? -axis.pad_begin : Expr(0);
    Expr high = include_pad ? axis.input + axis.pad_end : axis.input;
    // Taps k with low <= start + k * dilation < high.
    Expr first = max(ceil_div(low - start, axis.dilation), 0);
    Expr last = min(ceil_div(high - start, axis.dilation), axis.kernel);
    count *= max(last - first, 0);
  }
  return count;
}

void define_average_pool(DefineContext& c) {
  ConvSpec spec = resolve_pool(c);
  Operand x = c.in(0), y = c.out(0);
  NestBuilder nest("average_pool");
  std::vector<Expr> out = nest.parallel(y.shape);
  std::vector<Expr> taps = nest.reduce(kernel_shape(spec));
  Window window = window_at(spec, out, taps);
  Scalar element = x.compute(window.index);
  Scalar sum =
      nest.accumulate(ReduceKind::sum, scalar::select(window.inside, element, scalar::constant(element.dtype(), 0)));
  Expr count = window_count(spec, out, c.integer("count_include_pad", 0) != 0);
  nest.store(y, out, sum / scalar::cast(sum.dtype(), scalar::index(count)));
  c.emit(std::move(nest));
}

// (sum |x|^p)^(1/p) over the window (ONNX LpPool).
void define_lp_pool(DefineContext& c) {
  ConvSpec spec = resolve_pool(c);
  Operand x = c.in(0), y = c.out(0);
  double p = c.version() < 2 ? static_cast<double>(c.real("p", 2)) : static_cast<double>(c.integer("p", 2));
  NestBuilder nest("lp_pool");
  std::vector<Expr> out = nest.parallel(y.shape);
  std::vector<Expr> taps = nest.reduce(kernel_shape(spec));
  Window window = window_at(spec, out, taps);
  Scalar magnitude = scalar::unary(ScalarOp::absolute, x.compute(window.index));
  Scalar powered = scalar::binary(ScalarOp::power, magnitude, scalar::constant(magnitude.dtype(), p));
  Scalar sum =
      nest.accumulate(ReduceKind::sum, scalar::select(window.inside, powered, scalar::constant(powered.dtype(), 0)));
  nest.store(y, out, scalar::binary(ScalarOp::power, sum, scalar::constant(sum.dtype(), 1 / p)));
  c.emit(std::move(nest));
}

// ------------------------------------------------------------------------------------------------- global pools

void infer_global_pool(InferContext& c) {
  c.check(c.rank(0) >= 2, "batch and channels are expected, found {}", short_text(c.shape(0)));
  Shape shape(c.rank(0), 1);
  shape[0] = c.shape(0)[0];
  shape[1] = c.shape(0)[1];
  c.output(0, c.dtype(0), shape);
}

void define_global_pool(DefineContext& c, ReduceKind kind, const std::function<Scalar(const Scalar& element)>& before,
                        const std::function<Scalar(const Scalar& folded, const Expr& count)>& after) {
  Operand x = c.in(0), y = c.out(0);
  NestBuilder nest("global_pool");
  std::vector<Expr> out = nest.parallel(y.shape);
  Shape spatial(x.shape.begin() + 2, x.shape.end());
  std::vector<Expr> index{out[0], out[1]};
  for (const Expr& axis : nest.reduce(spatial)) index.push_back(axis);
  Scalar folded = nest.accumulate(kind, before(x.compute(index)));
  nest.store(y, out, after(folded, product(spatial)));
  c.emit(std::move(nest));
}

void define_global_average_pool(DefineContext& c) {
  define_global_pool(
      c, ReduceKind::sum, [](const Scalar& x) { return x; },
      [](const Scalar& sum, const Expr& count) { return sum / scalar::cast(sum.dtype(), scalar::index(count)); });
}

void define_global_max_pool(DefineContext& c) {
  define_global_pool(
      c, ReduceKind::maximum, [](const Scalar& x) { return x; }, [](const Scalar& m, const Expr&) { return m; });
}

void define_global_lp_pool(DefineContext& c) {
  double p = c.version() < 2 ? static_cast<double>(c.real("p", 2)) : static_cast<double>(c.integer("p", 2));
  auto power = [](const Scalar& x, double exponent) {
    return scalar::binary(ScalarOp::power, x, scalar::constant(x.dtype(), exponent));
  };
  define_global_pool(
      c, ReduceKind::sum, [&](const Scalar& x) { return power(scalar::unary(ScalarOp::absolute, x), p); },
      [&](const Scalar& sum, const Expr&) { return power(sum, 1 / p); });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "MaxPool", infer_pool, define_max_pool, computes, follows},
    {"", "AveragePool", infer_pool, define_average_pool, computes, follows},
    {"", "LpPool", infer_pool, define_lp_pool, unchanged, follows},
    {"", "GlobalAveragePool", infer_global_pool, define_global_average_pool, reduces, follows},
    {"", "GlobalMaxPool", infer_global_pool, define_global_max_pool, reduces, follows},
    {"", "GlobalLpPool", infer_global_pool, define_global_lp_pool, unchanged, follows},
};

}  // namespace

std::span<const OpRow> pooling_ops() { return rows; }

}  // namespace onnxc
