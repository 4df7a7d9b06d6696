// Resize (ONNX 10 to 19) and Upsample (1, 7, 9): each output element is interpolated at a coordinate of the input.
#include <cmath>

#include "ops/network/interpolation.h"
#include "ops/op.h"

namespace onnxc {
namespace {

enum class Interpolation { nearest, linear, cubic };

// One axis, resolved. Coordinates are computed in float32, as onnxruntime does.
struct ResizeAxis {
  Expr input, output;
  std::optional<float> scale;  // absent: output / input
  float roi_begin = 0, roi_end = 1;

  bool is_kept() const { return proven_equal(input, output) && (!scale || *scale == 1); }
};

struct ResizeSpec {
  Interpolation interpolation;
  std::string coordinates;
  std::string nearest_mode;
  float cubic_coefficient;
  bool excludes_outside;
  bool antialias;
  float extrapolation_value;
  std::vector<ResizeAxis> axes;

  CubicKernel cubic_kernel() const { return {static_cast<double>(cubic_coefficient)}; }
};

Scalar real(double value) { return scalar::constant(DType::float32, value); }
Scalar real(const Expr& value) { return scalar::cast(DType::float32, scalar::index(value)); }

// ------------------------------------------------------------------------------------------------- resolution

Interpolation read_interpolation(const NodeReader& c) {
  std::string mode = c.text("mode", "nearest");
  if (mode == "nearest") return Interpolation::nearest;
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear") return Interpolation::linear;
  if (mode == "cubic") return Interpolation::cubic;
  c.fail("mode '{}' is none of nearest, linear, cubic", mode);
}

bool is_upsample(const NodeReader& c) { return c.node().op->name == "Upsample"; }

// The inputs' places changed: Upsample 9 and Resize 10 are (X, scales), Resize 11 and later (X, roi, scales, sizes).
size_t scales_input(const NodeReader& c) { return is_upsample(c) || c.version() < 11 ? 1 : 2; }

// A float list that is an attribute (Upsample 7), two attributes (Upsample 1) or a constant input; empty when it is not
// given.
std::vector<float> read_floats(const NodeReader& c, size_t input, std::string_view name) {
  if (is_upsample(c) && c.version() < 7) return {1, 1, c.real("height_scale", 0), c.real("width_scale", 0)};
  if (is_upsample(c) && c.version() < 9) return c.reals(name);
  if (!c.has_input(input)) return {};
  const Tensor* tensor = c.constant(input);
  // An empty tensor stands for one that is not given.
  if (tensor == nullptr && c.shape(input).size() == 1 && c.shape(input)[0].is_constant(0)) return {};
  c.check(tensor != nullptr, "input {} ('{}', {}) depends on the data; onnxc needs it known when the model is compiled",
          input, c.input(input).name, name);
  std::vector<double> values = tensor->as_double();
  return {values.begin(), values.end()};
}

// floor(extent * scale), exactly for a symbolic extent: a float is an integer over a power of two.
Expr scaled_extent(const NodeReader& c, const Expr& extent, float scale) {
  c.check(std::isfinite(scale) && scale > 0 && scale < 1e6F,
          "a scale of {}; a positive value below 1000000 is expected", scale);
  if (std::optional<int64_t> constant = extent.constant()) {
    const float scaled = std::floor(static_cast<float>(*constant) * scale);
    c.check(scaled < 0x1p62F, "an axis of {} elements scaled by {} does not fit in 64 bits", *constant, scale);
    return static_cast<int64_t>(scaled);
  }
  int64_t denominator = 1;
  double numerator = scale;
  while (numerator != std::floor(numerator) && denominator < (1LL << 40)) {
    numerator *= 2;
    denominator *= 2;
  }
  return floor_div(extent * static_cast<int64_t>(numerator), denominator);
}

// Sizes that keep the aspect ratio (18): one scale for all the axes, and dims rounded to the nearest.
void keep_aspect_ratio(const NodeReader& c, const std::string& policy, const std::vector<size_t>& axes,
                       ResizeSpec& spec) {
  float scale = policy == "not_larger" ? INFINITY : 0;
  for (size_t axis : axes) {
    std::optional<int64_t> from = spec.axes[axis].input.constant(), to = spec.axes[axis].output.constant();
    c.check(from && to, "keep_aspect_ratio_policy '{}' needs sizes known when the model is compiled", policy);
    c.check(*from >= 1 && *to >= 0, "an axis of {} elements cannot be resized to {}", *from, *to);
    float ratio = static_cast<float>(*to) / static_cast<float>(*from);
    scale = policy == "not_larger" ? std::min(scale, ratio) : std::max(scale, ratio);
  }
  for (size_t axis : axes) {
    spec.axes[axis].scale = scale;
    auto extent = static_cast<float>(*spec.axes[axis].input.constant());
    const float scaled = std::floor(scale * extent + 0.5F);
    c.check(scaled < 0x1p62F, "an axis of {} elements scaled by {} does not fit in 64 bits", extent, scale);
    spec.axes[axis].output = static_cast<int64_t>(scaled);
  }
}

ResizeSpec resolve_resize(const NodeReader& c) {
  const Shape& from = c.shape(0);
  ResizeSpec spec;
  spec.interpolation = read_interpolation(c);
  bool is_early = is_upsample(c) || c.version() < 11;
  spec.coordinates = is_early ? "asymmetric" : c.text("coordinate_transformation_mode", "half_pixel");
  spec.nearest_mode = is_early ? "simple" : c.text("nearest_mode", "round_prefer_floor");
  spec.cubic_coefficient = c.real("cubic_coeff_a", -0.75F);
  spec.excludes_outside = c.integer("exclude_outside", 0) != 0;
  spec.extrapolation_value = c.real("extrapolation_value", 0);
  for (const Expr& extent : from) spec.axes.push_back({extent, extent, std::nullopt});

  const std::vector<int64_t> given_axes = c.integers("axes");
  std::vector<size_t> axes = c.axes(std::vector<Expr>(given_axes.begin(), given_axes.end()), from.size());
  if (axes.empty())
    for (size_t i = 0; i < from.size(); ++i) axes.push_back(i);

  std::vector<float> scales = read_floats(c, scales_input(c), "scales");
  if (!scales.empty()) {
    c.check(scales.size() == axes.size(), "{} scales are given for {} axes", scales.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      spec.axes[axes[i]].scale = scales[i];
      spec.axes[axes[i]].output = scaled_extent(c, from[axes[i]], scales[i]);
    }
  } else {
    c.check(c.has_input(3), "neither scales nor sizes are given");
    std::vector<Expr> sizes = *c.integers_from(3, "sizes");
    c.check(sizes.size() == axes.size(), "{} sizes are given for {} axes", sizes.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) spec.axes[axes[i]].output = sizes[i];
    std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") keep_aspect_ratio(c, policy, axes, spec);
  }
  if (spec.coordinates == "tf_crop_and_resize") {
    std::vector<float> roi = read_floats(c, 1, "roi");
    c.check(roi.size() == 2 * axes.size(), "{} values of roi are given for {} axes", roi.size(), axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      spec.axes[axes[i]].roi_begin = roi[i];
      spec.axes[axes[i]].roi_end = roi[axes.size() + i];
    }
  }
  bool shrinks = false;
  for (const ResizeAxis& axis : spec.axes) shrinks = shrinks || !proven_at_least(axis.output, axis.input);
  spec.antialias = c.integer("antialias", 0) != 0 && shrinks && spec.interpolation != Interpolation::nearest;
  return spec;
}

// ------------------------------------------------------------------------------------------------ coordinates

Scalar scale_of(const ResizeAxis& axis) {
  return axis.scale ? real(static_cast<double>(*axis.scale)) : real(axis.output) / real(axis.input);
}

// The place in the input of element x of the output (ONNX Resize, coordinate_transformation_mode).
Scalar coordinate(const NodeReader& c, const ResizeSpec& spec, const ResizeAxis& axis, const Expr& index) {
  Scalar x = real(index), scale = scale_of(axis), half = real(0.5);
  const std::string& mode = spec.coordinates;
  Scalar half_pixel = (x + half) / scale - half;
  // Where the output has one element, `otherwise`.
  auto unless_single = [&](const Scalar& value, const Scalar& otherwise) {
    return scalar::select(less(1, axis.output), value, otherwise);
  };
  if (mode == "half_pixel") return half_pixel;
  if (mode == "pytorch_half_pixel") return unless_single(half_pixel, real(0.0));
  if (mode == "half_pixel_symmetric") {
    Scalar adjustment = real(axis.output) / (scale * real(axis.input));
    // Summed in this order, as ONNX's text does.
    return real(axis.input) * half * (real(1.0) - adjustment) + (x + half) / scale - half;
  }
  if (mode == "align_corners")
    return unless_single(x * real(axis.input - 1) / real(max(axis.output - 1, Expr(1))), real(0.0));
  if (mode == "asymmetric") return x / scale;
  if (mode == "tf_half_pixel_for_nn") return (x + half) / scale;
  if (mode == "tf_crop_and_resize") {
    double begin = static_cast<double>(axis.roi_begin), end = static_cast<double>(axis.roi_end);
    Scalar last = real(axis.input - 1);
    return unless_single(real(begin) * last + x * real(end - begin) * last / real(max(axis.output - 1, Expr(1))),
                         real(0.5 * (begin + end)) * last);
  }
  c.fail("coordinate_transformation_mode '{}' is not one that ONNX defines", mode);
}

Scalar nearest(const NodeReader& c, const ResizeSpec& spec, const ResizeAxis& axis, const Scalar& x) {
  auto round_down = [](const Scalar& value) { return scalar::unary(ScalarOp::floor, value); };
  auto round_up = [](const Scalar& value) { return scalar::unary(ScalarOp::ceil, value); };
  const std::string& mode = spec.nearest_mode;
  // Before version 11 the mode was left open: onnxruntime rounds down when growing and up when shrinking.
  if (mode == "simple") return axis.scale.value_or(1) < 1 ? round_up(x) : round_down(x);
  if (mode == "round_prefer_floor") return round_up(x - real(0.5));
  if (mode == "round_prefer_ceil") return round_down(x + real(0.5));
  if (mode == "floor") return round_down(x);
  if (mode == "ceil") return round_up(x);
  c.fail("nearest_mode '{}' is none of round_prefer_floor, round_prefer_ceil, floor, ceil", mode);
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
  std::vector<Scalar> weights = spec.cubic_kernel().weights(x - below);
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
  const CubicKernel kernel = spec.cubic_kernel();
  Scalar outer = scalar::select(scalar::binary(ScalarOp::less, d, real(2.0)), kernel.far(d), real(0.0));
  return scalar::select(scalar::binary(ScalarOp::less_or_equal, d, one), kernel.near(d), outer);
}

// How many elements the stretched kernel reaches to either side.
Expr reach(const ResizeSpec& spec, const ResizeAxis& axis) {
  int64_t support = spec.interpolation == Interpolation::linear ? 1 : 2;
  if (!axis.scale) return ceil_div(support * axis.input, max(min(axis.output, axis.input), 1));
  return static_cast<int64_t>(std::ceil(static_cast<float>(support) / std::min(*axis.scale, 1.0F)));
}

// The kernel is stretched along the axes that shrink, so that no element of the input goes unseen (ONNX Resize 18):
// y = sum of weight * x / sum of weight. The taps are a reduction, as their number follows from the scale.
Scalar antialiased(NestBuilder& nest, const ResizeSpec& spec, const Operand& x, const std::vector<Expr>& out,
                   const std::vector<Scalar>& places) {
  std::vector<Expr> index;
  Scalar weight;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!places[i]) {
      index.push_back(out[i]);
      continue;
    }
    const ResizeAxis& axis = spec.axes[i];
    Expr taps = reach(spec, axis);
    Expr position = nest.let(scalar::unary(ScalarOp::floor, places[i])) - taps + 1 + nest.reduce(2 * taps);
    Scalar stretch = scalar::binary(ScalarOp::minimum, scale_of(axis), real(1.0));
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
  Shape shape;
  for (const ResizeAxis& axis : resolve_resize(c).axes) {
    c.check(!proven_less(axis.output, 0), "a size of {}", axis.output.to_string());
    if (may_be_negative(axis.output)) c.at_least(axis.output, 0, "a size");
    // By a scale, nothing becomes nothing.
    if (!axis.scale && !axis.is_kept()) c.not_empty(axis.input, axis.output, "an empty axis cannot be resized");
    shape.push_back(axis.output);
  }
  c.output(0, c.dtype(0), shape);
}

// The weighted sum of the taps around the place of an output element; an axis without a place keeps its index.
Scalar interpolated(NestBuilder& nest, const NodeReader& c, const ResizeSpec& spec, const Operand& x,
                    const std::vector<Expr>& out, const std::vector<Scalar>& places) {
  std::vector<std::vector<Tap>> taps;
  for (size_t i = 0; i < out.size(); ++i) {
    const ResizeAxis& axis = spec.axes[i];
    if (!places[i])
      taps.push_back(std::vector<Tap>{{out[i]}});
    else if (spec.interpolation == Interpolation::nearest)
      taps.push_back(std::vector<Tap>{{clamped(nest.let(nearest(c, spec, axis, places[i])), axis.input)}});
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
  NestBuilder nest("resize");
  std::vector<Expr> out = nest.parallel(y.shape);
  bool crops = spec.coordinates == "tf_crop_and_resize";
  std::vector<Scalar> places(out.size());  // empty where the axis is kept
  Scalar inside;
  for (size_t i = 0; i < out.size(); ++i) {
    const ResizeAxis& axis = spec.axes[i];
    if (axis.is_kept() && !crops) continue;
    places[i] = coordinate(c, spec, axis, out[i]);
    if (crops)
      inside = both(inside, both(scalar::binary(ScalarOp::less_or_equal, real(0.0), places[i]),
                                 scalar::binary(ScalarOp::less_or_equal, places[i], real(axis.input - 1))));
  }
  Scalar value = spec.antialias ? antialiased(nest, spec, x, out, places) : interpolated(nest, c, spec, x, out, places);
  if (inside)
    value =
        scalar::select(inside, value, scalar::constant(value.dtype(), static_cast<double>(spec.extrapolation_value)));
  nest.store(y, out, scalar::cast(y.dtype, value));
  c.emit(std::move(nest));
}

using enum LayoutRule;

constexpr OpRow rows[] = {
    {"", "Resize", infer_resize, define_resize, follows, 10},
    {"", "Upsample", infer_resize, define_resize, follows},
};

}  // namespace

std::span<const OpRow> resize_ops() { return rows; }

}  // namespace onnxc
