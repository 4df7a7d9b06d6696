// Resize (ONNX 10 to 19) and Upsample (1, 7, 9): each output element is interpolated at a coordinate of the input.
#include "ops/network/resize_spec.h"

#include <cmath>

#include "ops/families.h"
#include "ops/network/interpolation.h"
#include "ops/run_time_axes.h"

namespace onnxc {
namespace {

CubicKernel cubic_kernel(const ResizeSpec& spec) { return {static_cast<double>(spec.cubic_coefficient)}; }

Scalar real(double value) { return scalar::constant(DType::float32, value); }
Scalar real(const Expr& value) { return scalar::cast(DType::float32, scalar::index(value)); }

// ------------------------------------------------------------------------------------- what only a run may know

// The numbers of an axis that its coordinates are made of.
struct AxisNumbers {
  Scalar scale;
  Scalar roi_begin, roi_end;
  Expr reach;  // how many elements the stretched kernel reaches to either side, with antialias
};

int64_t support(const ResizeSpec& spec) { return spec.interpolation == Interpolation::linear ? 1 : 2; }

// The scale of all the named axes.
Scalar common_scale(const ResizeSpec& spec) {
  Scalar scale;
  for (const ResizeAxis& axis : spec.axes) {
    if (!axis.place) continue;
    const Scalar own = real(spec.common_scale_sizes[static_cast<size_t>(*axis.place)]) / real(axis.input);
    const ScalarOp choice = spec.takes_least_scale ? ScalarOp::minimum : ScalarOp::maximum;
    scale = scale ? scalar::binary(choice, scale, own) : own;
  }
  return scale;
}

Scalar scale_of(const DefineContext& c, const ResizeSpec& spec, const ResizeAxis& axis) {
  if (axis.scale) return real(static_cast<double>(*axis.scale));
  if (axis.place && spec.scales_input) return scalar::cast(DType::float32, c.in(*spec.scales_input)({*axis.place}));
  if (axis.place && !spec.common_scale_sizes.empty()) return common_scale(spec);
  return real(axis.output) / real(axis.input);
}

// With antialias, for an axis whose scale is known when the model is compiled.
Expr known_reach(const ResizeSpec& spec, const ResizeAxis& axis) {
  if (!axis.scale) return ceil_div(support(spec) * axis.input, max(min(axis.output, axis.input), 1));
  return static_cast<int64_t>(std::ceil(static_cast<float>(support(spec)) / std::min(*axis.scale, 1.0F)));
}

AxisNumbers numbers_of(const DefineContext& c, const ResizeSpec& spec, const ResizeAxis& axis) {
  AxisNumbers result{scale_of(c, spec, axis), real(static_cast<double>(axis.roi_begin)),
                     real(static_cast<double>(axis.roi_end)), spec.antialias ? known_reach(spec, axis) : 0};
  if (axis.place && spec.roi_input) {
    const Operand roi = c.in(*spec.roi_input);
    result.roi_begin = scalar::cast(DType::float32, roi({*axis.place}));
    result.roi_end = scalar::cast(DType::float32, roi({*axis.place + floor_div(roi.shape[0], 2)}));
  }
  return result;
}

// Whether the run says how far the stretched kernel reaches along an axis.
bool has_reach_of_run(const ResizeSpec& spec, const ResizeAxis& axis) {
  return spec.antialias && axis.is_sized_by_run && !axis.scale;
}

// The node binds the output of each axis that a run sizes, then the reaches.
void make_run_time_symbols(InferContext& c, ResizeSpec& spec) {
  for (size_t i = 0; i < spec.axes.size(); ++i)
    if (spec.axes[i].is_sized_by_run) spec.axes[i].output = c.run_time_dim(0, i);
  for (size_t i = 0; i < spec.axes.size(); ++i)
    if (has_reach_of_run(spec, spec.axes[i]))
      c.run_time_symbol("reach", {0, Bounds::infinity}, fmt::format("how far axis {}'s kernel reaches", i));
}

// floor(input * scale) (ONNX Resize 19); with one scale for all axes, rounded to the nearest, halves up. The product is
// rounded to float32, so that nothing is added to it: a fused multiply-add would not round it.
Scalar resized_extent(const ResizeSpec& spec, const ResizeAxis& axis, const Scalar& scale) {
  const Scalar scaled = real(axis.input) * scale;
  if (spec.common_scale_sizes.empty()) return scalar::cast(DType::int64, scalar::unary(ScalarOp::floor, scaled));
  const Scalar halves = scalar::cast(DType::int64, scalar::unary(ScalarOp::floor, scaled * real(2.0)));
  return (halves + scalar::integer_constant(DType::int64, 1)) / scalar::integer_constant(DType::int64, 2);
}

Scalar reach_of_run(const ResizeSpec& spec, const Scalar& scale) {
  const Scalar stretch = scalar::binary(ScalarOp::minimum, scale, real(1.0));
  const Scalar reach = scalar::unary(ScalarOp::ceil, real(static_cast<double>(support(spec))) / stretch);
  // So small a scale leaves no element that would read.
  return scalar::cast(DType::int64, scalar::binary(ScalarOp::minimum, reach, real(0x1p40)));
}

// Binds what make_run_time_symbols left to the run, and puts it into the spec and the numbers.
void bind_run_time_symbols(DefineContext& c, ResizeSpec& spec, std::vector<AxisNumbers>& numbers) {
  const std::vector<Expr> symbols = symbols_of(c.node());
  std::vector<Scalar> values;
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    if (!spec.axes[i].is_sized_by_run) continue;
    spec.axes[i].output = symbols[values.size()];
    values.push_back(resized_extent(spec, spec.axes[i], numbers[i].scale));
  }
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    if (!has_reach_of_run(spec, spec.axes[i])) continue;
    numbers[i].reach = symbols[values.size()];
    values.push_back(reach_of_run(spec, numbers[i].scale));
  }
  c.bind(symbols, values);
}

// ------------------------------------------------------------------------------------------------ coordinates

// The place in the input of element x of the output (ONNX Resize, coordinate_transformation_mode).
Scalar coordinate(const ResizeSpec& spec, const ResizeAxis& axis, const AxisNumbers& numbers, const Expr& index) {
  using enum Coordinates;
  const Scalar x = real(index), scale = numbers.scale, half = real(0.5);
  // `otherwise` if the output has one element.
  auto unless_single = [&](const Scalar& value, const Scalar& otherwise) {
    return scalar::select(less(1, axis.output), value, otherwise);
  };
  switch (spec.coordinates) {
    case half_pixel:
      return (x + half) / scale - half;
    case pytorch_half_pixel:
      return unless_single((x + half) / scale - half, real(0.0));
    case half_pixel_symmetric: {
      Scalar adjustment = real(axis.output) / (scale * real(axis.input));
      // Summed in this order, as ONNX's text does.
      return real(axis.input) * half * (real(1.0) - adjustment) + (x + half) / scale - half;
    }
    case align_corners:
      return unless_single(x * real(axis.input - 1) / real(max(axis.output - 1, Expr(1))), real(0.0));
    case asymmetric:
      return x / scale;
    case tf_half_pixel_for_nn:
      return (x + half) / scale;
    case tf_crop_and_resize: {
      const Scalar begin = numbers.roi_begin, end = numbers.roi_end, last = real(axis.input - 1);
      return unless_single(begin * last + x * (end - begin) * last / real(max(axis.output - 1, Expr(1))),
                           half * (begin + end) * last);
    }
  }
  internal_error("every coordinate mode has its formula");
}

Scalar nearest(const ResizeSpec& spec, const AxisNumbers& numbers, const Scalar& x) {
  using enum NearestMode;
  auto round_down = [](const Scalar& value) { return scalar::unary(ScalarOp::floor, value); };
  auto round_up = [](const Scalar& value) { return scalar::unary(ScalarOp::ceil, value); };
  switch (spec.nearest_mode) {
    case by_direction:
      return scalar::select(scalar::binary(ScalarOp::less, numbers.scale, real(1.0)), round_up(x), round_down(x));
    case round_prefer_floor:
      return round_up(x - real(0.5));
    case round_prefer_ceil:
      return round_down(x + real(0.5));
    case floor:
      return round_down(x);
    case ceil:
      return round_up(x);
  }
  internal_error("every mode of nearest has its formula");
}

// ---------------------------------------------------------------------------------------------- interpolation

std::vector<Tap> linear_taps(NestBuilder& nest, const ResizeAxis& axis, const Scalar& x) {
  Scalar last = real(axis.input - 1);
  Scalar inside = scalar::binary(ScalarOp::maximum, scalar::binary(ScalarOp::minimum, x, last), real(0.0));
  Scalar below = scalar::unary(ScalarOp::floor, inside);
  Scalar fraction = inside - below;
  Expr index = nest.let(below);
  return {{clamped(index, axis.input), real(1.0) - fraction}, {clamped(index + 1, axis.input), fraction}};
}

std::vector<Tap> cubic_taps(NestBuilder& nest, const ResizeSpec& spec, const ResizeAxis& axis, const Scalar& x) {
  Scalar below = scalar::unary(ScalarOp::floor, x);
  std::vector<Scalar> weights = cubic_kernel(spec).weights(x - below);
  Expr index = nest.let(below);
  if (spec.excludes_outside) {
    Scalar sum;
    for (size_t i = 0; i < weights.size(); ++i) {
      Scalar inside = within(index + static_cast<int64_t>(i) - 1, axis.input);
      weights[i] = scalar::select(inside, weights[i], real(0.0));
      sum = sum ? sum + weights[i] : weights[i];
    }
    for (Scalar& weight : weights) weight = weight / sum;
  }
  std::vector<Tap> taps;
  for (size_t i = 0; i < weights.size(); ++i)
    taps.push_back({clamped(index + static_cast<int64_t>(i) - 1, axis.input), weights[i]});
  return taps;
}

// ---------------------------------------------------------------------------------------------------- antialias

// The weight of an input element at a signed distance from the place, in elements of the stretched kernel.
Scalar kernel_weight(const ResizeSpec& spec, const Scalar& distance) {
  Scalar d = scalar::unary(ScalarOp::absolute, distance), one = real(1.0);
  if (spec.interpolation == Interpolation::linear) return scalar::binary(ScalarOp::maximum, one - d, real(0.0));
  const CubicKernel kernel = cubic_kernel(spec);
  Scalar outer = scalar::select(scalar::binary(ScalarOp::less, d, real(2.0)), kernel.far(d), real(0.0));
  return scalar::select(scalar::binary(ScalarOp::less_or_equal, d, one), kernel.near(d), outer);
}

// The kernel is stretched along the axes that shrink, so that no element of the input goes unseen (ONNX Resize 18):
// y = sum of weight * x / sum of weight. The taps are a reduction, as their number follows from the scale.
Scalar antialiased(NestBuilder& nest, const ResizeSpec& spec, const Operand& x, const std::vector<Expr>& out,
                   const std::vector<Scalar>& places, const std::vector<AxisNumbers>& numbers) {
  std::vector<Expr> index;
  Scalar weight;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!places[i]) {
      index.push_back(out[i]);
      continue;
    }
    const ResizeAxis& axis = spec.axes[i];
    const Expr& taps = numbers[i].reach;
    Expr position = nest.let(scalar::unary(ScalarOp::floor, places[i])) - taps + 1 + nest.reduce(2 * taps);
    Scalar stretch = scalar::binary(ScalarOp::minimum, numbers[i].scale, real(1.0));
    Scalar factor = kernel_weight(spec, (real(position) - places[i]) * stretch);
    if (spec.excludes_outside) factor = scalar::select(within(position, axis.input), factor, real(0.0));
    weight = weight ? weight * factor : factor;
    index.push_back(clamped(position, axis.input));
  }
  Scalar element = interpolated_element(x, index);
  weight = scalar::cast(element.dtype(), weight);
  return nest.accumulate(ReduceKind::sum, element * weight) / nest.accumulate(ReduceKind::sum, weight);
}

void infer_resize(InferContext& c) {
  c.check(c.dtype(0) != DType::string, "strings cannot be interpolated");
  ResizeSpec spec = resolve_resize(c);
  make_run_time_symbols(c, spec);
  Shape shape;
  for (const ResizeAxis& axis : spec.axes) {
    c.check(!proven_less(axis.output, 0), "a size of {}", short_text(axis.output));
    if (may_be_negative(axis.output)) c.at_least(axis.output, 0, "a size");
    // A scale makes nothing of nothing.
    if (!axis.scale && !axis.is_kept()) c.not_empty(axis.input, axis.output, "an empty axis cannot be resized");
    shape.push_back(axis.output);
  }
  c.output(0, c.dtype(0), shape);
}

// The weighted sum of the taps around the place of an output element; an axis without a place keeps its index.
Scalar interpolated(NestBuilder& nest, const ResizeSpec& spec, const Operand& x, const std::vector<Expr>& out,
                    const std::vector<Scalar>& places, const std::vector<AxisNumbers>& numbers) {
  std::vector<std::vector<Tap>> taps;
  for (size_t i = 0; i < out.size(); ++i) {
    const ResizeAxis& axis = spec.axes[i];
    if (!places[i])
      taps.push_back(std::vector<Tap>{{out[i]}});
    else if (spec.interpolation == Interpolation::nearest)
      taps.push_back(std::vector<Tap>{{clamped(nest.let(nearest(spec, numbers[i], places[i])), axis.input)}});
    else if (spec.interpolation == Interpolation::linear)
      taps.push_back(linear_taps(nest, axis, places[i]));
    else
      taps.push_back(cubic_taps(nest, spec, axis, places[i]));
  }
  const bool exact = spec.interpolation == Interpolation::nearest;
  return weighted_sum(taps, [&](const std::vector<Expr>& at) { return exact ? x(at) : interpolated_element(x, at); });
}

void define_resize(DefineContext& c) {
  ResizeSpec spec = resolve_resize(c);
  Operand x = c.in(0), y = c.out(0);
  std::vector<AxisNumbers> numbers;
  for (const ResizeAxis& axis : spec.axes) numbers.push_back(numbers_of(c, spec, axis));
  bind_run_time_symbols(c, spec, numbers);
  NestBuilder nest("resize");
  std::vector<Expr> out = nest.parallel(y.shape);
  bool crops = spec.coordinates == Coordinates::tf_crop_and_resize;
  std::vector<Scalar> places(out.size());  // empty if the axis is kept
  Scalar inside;
  for (size_t i = 0; i < out.size(); ++i) {
    const ResizeAxis& axis = spec.axes[i];
    if (axis.is_kept() && !crops) continue;
    places[i] = coordinate(spec, axis, numbers[i], out[i]);
    if (crops)
      inside = both(inside, both(scalar::binary(ScalarOp::less_or_equal, real(0.0), places[i]),
                                 scalar::binary(ScalarOp::less_or_equal, places[i], real(axis.input - 1))));
  }
  Scalar value = spec.antialias ? antialiased(nest, spec, x, out, places, numbers)
                                : interpolated(nest, spec, x, out, places, numbers);
  if (inside)
    value =
        scalar::select(inside, value, scalar::constant(value.dtype(), static_cast<double>(spec.extrapolation_value)));
  nest.store(y, out, scalar::cast(y.dtype, value));
  c.emit(std::move(nest));
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Resize", infer_resize, define_resize, computes, follows, 10},
    {"", "Upsample", infer_resize, define_resize, computes, follows},
};

}  // namespace

std::span<const OpRow> resize_ops() { return rows; }

}  // namespace onnxc
