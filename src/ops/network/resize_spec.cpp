#include "ops/network/resize_spec.h"

#include <algorithm>
#include <cmath>

#include "ir/interpreter/symbolic_number.h"
#include "ops/op.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

Interpolation read_interpolation(const NodeReader& c) {
  std::string mode = c.text("mode", "nearest");
  if (mode == "nearest") return Interpolation::nearest;
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear") return Interpolation::linear;
  if (mode == "cubic") return Interpolation::cubic;
  c.fail("mode must be one of nearest, linear, cubic, found '{}'", mode);
}

bool is_upsample(const NodeReader& c) { return c.node().op->name == "Upsample"; }

// The inputs' places changed: Upsample 9 and Resize 10 are (X, scales), Resize 11 and later (X, roi, scales, sizes).
size_t scales_input(const NodeReader& c) { return is_upsample(c) || c.version() < 11 ? 1 : 2; }

// A float list that is an attribute (Upsample 7), two attributes (Upsample 1) or an input; empty when it is not given
// or known only in a run.
std::vector<float> read_floats(const NodeReader& c, size_t input, std::string_view name) {
  if (is_upsample(c) && c.version() < 7) return {1, 1, c.real("height_scale", 0), c.real("width_scale", 0)};
  if (is_upsample(c) && c.version() < 9) return c.reals(name);
  if (!c.has_input(input) || c.constant(input) == nullptr) return {};
  std::vector<double> values = c.constant(input)->as_double();
  return {values.begin(), values.end()};
}

// Whether an input holds numbers that only a run knows, then as many as expected. An empty tensor stands for an input
// that is not given.
bool is_known_by_run(const NodeReader& c, size_t input, std::string_view name, size_t count) {
  if (!c.has_input(input) || c.constant(input) != nullptr) return false;
  const Shape& shape = c.shape(input);
  if (shape.size() == 1 && shape[0].is_constant(0)) return false;
  c.check(shape.size() == 1 && shape[0].is_constant(static_cast<int64_t>(count)),
          "input {} ('{}', {}) is known only when the model runs; it must have shape [{}], found {}", input,
          c.input(input).name, name, count, short_text(shape));
  return true;
}

// A size by a product in float32, of a known extent.
int64_t known_size(const NodeReader& c, float rounded, int64_t extent, float scale) {
  c.check(rounded < 0x1p62F, "an axis of {} scaled by {} does not fit in 64 bits", counted(extent, "element"), scale);
  return static_cast<int64_t>(rounded);
}

// floor(extent * scale) with the product in float32 as an expression; nothing if it may be rounded.
std::optional<Expr> scaled_extent(const NodeReader& c, const Expr& extent, float scale) {
  c.check(std::isfinite(scale) && scale > 0 && scale < 1e6F,
          "a scale of {}; a positive value below 1000000 is expected", scale);
  if (const std::optional<int64_t> known = extent.constant())
    return known_size(c, std::floor(static_cast<float>(*known) * scale), *known, scale);
  if (scale == std::floor(scale)) return extent * static_cast<int64_t>(scale);
  // Any extent is a size, whatever it was computed from.
  const Symbol size = Symbol::dim("size", {0, std::max<int64_t>(extent.bounds().maximum, 0)});
  const std::optional<SymbolicNumber> factor =
      symbolic_constant(DType::float32, {.number = static_cast<double>(scale)});
  if (!factor) return std::nullopt;
  const auto product = symbolic_binary(ScalarOp::multiply, DType::float32, {size}, *factor);
  const auto rounded = product ? symbolic_unary(ScalarOp::floor, DType::float32, *product) : std::nullopt;
  return rounded ? std::optional(rounded->numerator.substitute({{size, extent}})) : std::nullopt;
}

void scale_axis(const NodeReader& c, ResizeAxis& axis, float scale) {
  axis.scale = scale;
  const std::optional<Expr> size = scaled_extent(c, axis.input, scale);
  axis.is_sized_by_run = !size;
  if (size) axis.output = *size;
}

void leave_to_run(const std::vector<size_t>& axes, ResizeSpec& spec) {
  for (const size_t axis : axes) spec.axes[axis].is_sized_by_run = true;
}

// Sizes that keep the aspect ratio (18): one scale for all the axes, and dims rounded to the nearest.
void keep_aspect_ratio(const NodeReader& c, const std::vector<size_t>& axes, ResizeSpec& spec) {
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  spec.takes_least_scale = policy == "not_larger";
  c.check(spec.takes_least_scale || policy == "not_smaller",
          "keep_aspect_ratio_policy must be one of stretch, not_larger, not_smaller, found '{}'", policy);
  float scale = spec.takes_least_scale ? INFINITY : 0;
  for (size_t axis : axes) {
    std::optional<int64_t> from = spec.axes[axis].input.constant(), to = spec.axes[axis].output.constant();
    if (!from || !to) {
      for (size_t each : axes) spec.common_scale_sizes.push_back(spec.axes[each].output);
      return leave_to_run(axes, spec);
    }
    c.check(*from >= 1 && *to >= 0, "an axis of {} cannot be resized to {}", counted(*from, "element"), *to);
    float ratio = static_cast<float>(*to) / static_cast<float>(*from);
    scale = spec.takes_least_scale ? std::min(scale, ratio) : std::max(scale, ratio);
  }
  for (size_t axis : axes) {
    spec.axes[axis].scale = scale;
    const int64_t extent = *spec.axes[axis].input.constant();
    spec.axes[axis].output = known_size(c, std::round(scale * static_cast<float>(extent)), extent, scale);
  }
}

// The modes were left open before version 11: these are onnxruntime's.
bool has_modes(const NodeReader& c) { return !is_upsample(c) && c.version() >= 11; }

Coordinates read_coordinates(const NodeReader& c) {
  using enum Coordinates;
  if (!has_modes(c)) return asymmetric;
  const std::string mode = c.text("coordinate_transformation_mode", "half_pixel");
  for (const auto& [text, value] : {std::pair{"half_pixel", half_pixel},
                                    {"pytorch_half_pixel", pytorch_half_pixel},
                                    {"half_pixel_symmetric", half_pixel_symmetric},
                                    {"align_corners", align_corners},
                                    {"asymmetric", asymmetric},
                                    {"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
                                    {"tf_crop_and_resize", tf_crop_and_resize}})
    if (mode == text) return value;
  c.fail("coordinate_transformation_mode '{}' is not one that ONNX defines", mode);
}

NearestMode read_nearest_mode(const NodeReader& c, Interpolation interpolation) {
  using enum NearestMode;
  if (!has_modes(c) || interpolation != Interpolation::nearest) return by_direction;
  const std::string mode = c.text("nearest_mode", "round_prefer_floor");
  for (const auto& [text, value] : {std::pair{"round_prefer_floor", round_prefer_floor},
                                    {"round_prefer_ceil", round_prefer_ceil},
                                    {"floor", floor},
                                    {"ceil", ceil}})
    if (mode == text) return value;
  c.fail("nearest_mode must be one of round_prefer_floor, round_prefer_ceil, floor, ceil, found '{}'", mode);
}

// The scales or the sizes of these axes.
void read_extents(const NodeReader& c, const std::vector<size_t>& axes, ResizeSpec& spec) {
  std::vector<float> scales = read_floats(c, scales_input(c), "scales");
  if (is_known_by_run(c, scales_input(c), "scales", axes.size())) {
    spec.scales_input = scales_input(c);
    leave_to_run(axes, spec);
  } else if (!scales.empty()) {
    c.check(scales.size() == axes.size(), "{} given for {}", counted_are(scales.size(), "scale"),
            counted(axes.size(), "axis"));
    for (size_t i = 0; i < axes.size(); ++i) scale_axis(c, spec.axes[axes[i]], scales[i]);
  } else {
    c.check(c.has_input(3), "neither scales nor sizes are given");
    std::vector<Expr> sizes = *c.integers_from(3, "sizes");
    c.check(sizes.size() == axes.size(), "{} given for {}", counted_are(sizes.size(), "size"),
            counted(axes.size(), "axis"));
    for (size_t i = 0; i < axes.size(); ++i) spec.axes[axes[i]].output = sizes[i];
    keep_aspect_ratio(c, axes, spec);
  }
}

void read_region(const NodeReader& c, const std::vector<size_t>& axes, ResizeSpec& spec) {
  if (is_known_by_run(c, 1, "roi", 2 * axes.size())) {
    spec.roi_input = 1;
    return;
  }
  std::vector<float> roi = read_floats(c, 1, "roi");
  c.check(roi.size() == 2 * axes.size(), "{} of roi are given for {}", counted(roi.size(), "value"),
          counted(axes.size(), "axis"));
  for (size_t i = 0; i < axes.size(); ++i) {
    spec.axes[axes[i]].roi_begin = roi[i];
    spec.axes[axes[i]].roi_end = roi[axes.size() + i];
  }
}

bool may_shrink(const ResizeAxis& axis) {
  if (axis.is_sized_by_run) return !axis.scale || *axis.scale < 1;
  return !proven_at_least(axis.output, axis.input);
}

}  // namespace

ResizeSpec resolve_resize(const NodeReader& c) {
  const Shape& from = c.shape(0);
  ResizeSpec spec;
  spec.interpolation = read_interpolation(c);
  spec.coordinates = read_coordinates(c);
  spec.nearest_mode = read_nearest_mode(c, spec.interpolation);
  spec.cubic_coefficient = c.real("cubic_coeff_a", -0.75F);
  spec.excludes_outside = c.integer("exclude_outside", 0) != 0;
  spec.extrapolation_value = c.real("extrapolation_value", 0);
  for (const Expr& extent : from) spec.axes.push_back({extent, extent, std::nullopt});

  const std::vector<int64_t> given_axes = c.integers("axes");
  std::vector<size_t> axes = c.axes(std::vector<Expr>(given_axes.begin(), given_axes.end()), from.size());
  if (axes.empty())
    for (size_t i = 0; i < from.size(); ++i) axes.push_back(i);
  for (size_t i = 0; i < axes.size(); ++i) spec.axes[axes[i]].place = static_cast<int64_t>(i);

  read_extents(c, axes, spec);
  if (spec.coordinates == Coordinates::tf_crop_and_resize) read_region(c, axes, spec);
  spec.antialias = c.integer("antialias", 0) != 0 && std::ranges::any_of(spec.axes, may_shrink) &&
                   spec.interpolation != Interpolation::nearest;
  return spec;
}

}  // namespace onnxc
