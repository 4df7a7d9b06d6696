// The attributes of Resize and Upsample, resolved once: defaults, versions and the places of inputs are gone. Shape
// inference, the definition and every kernel read this and nothing else. Scales and a region may be known only when the
// model runs.
//
// A scale gives an axis floor(extent * scale), of the product in float32, as onnxruntime and PyTorch compute it. That
// is an expression of a free extent if the product is not rounded for any: the scale is an integer or a power of two,
// or the extent is bounded (--dim). Otherwise a run computes it: 10 * 0.7 is 7 in float32, and less in exact numbers.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

class NodeReader;

enum class Interpolation : uint8_t { nearest, linear, cubic };

// ONNX Resize 19, coordinate_transformation_mode.
enum class Coordinates : uint8_t {
  half_pixel,
  pytorch_half_pixel,
  half_pixel_symmetric,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};

// How a coordinate becomes an index: ONNX's nearest_mode; `by_direction` rounds down, or up if the axis shrinks.
enum class NearestMode : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil, by_direction };

// One axis. Coordinates are computed in float32, as onnxruntime does.
struct ResizeAxis {
  Expr input, output;
  std::optional<float> scale = {};  // absent: output / input, or what a run says
  float roi_begin = 0, roi_end = 1;
  // Its place among the axes that are named. Absent if it is not named.
  std::optional<int64_t> place = {};
  // The node binds `output`: what makes it is known only in a run, or the float32 product is not an expression.
  bool is_sized_by_run = false;

  bool is_kept() const { return proven_equal(input, output) && (!scale || *scale == 1); }
};

struct ResizeSpec {
  Interpolation interpolation = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  NearestMode nearest_mode = NearestMode::by_direction;
  float cubic_coefficient = 0;
  bool excludes_outside = false;
  bool antialias = false;  // whether an axis shrinks and its elements are interpolated
  float extrapolation_value = 0;
  std::vector<ResizeAxis> axes;  // of the tensor, those that are kept too

  // Inputs known only at run time: scales, roi, and for keep_aspect_ratio the one scale (min or max over the axes).
  std::optional<size_t> scales_input, roi_input;
  std::vector<Expr> common_scale_sizes;
  bool takes_least_scale = false;
};

// Fails for a mode that ONNX does not define; for scales, sizes or a region that are not as many as the axes; for a
// scale that is not positive.
ResizeSpec resolve_resize(const NodeReader& node);

}  // namespace onnxc
