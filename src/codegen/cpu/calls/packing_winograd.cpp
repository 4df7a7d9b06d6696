#include "codegen/cpu/calls/packing_winograd.h"

#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// Of a pair of channels: [outer][row][column], axes in the kernel's order.
constexpr int64_t most_points = 6;
constexpr kernels::Axes strides{most_points * most_points, most_points, 1};
using Points = std::array<double, static_cast<size_t>(most_points* most_points* most_points)>;

// Replaces the taps of one axis, whose neighbours stand `stride` apart, by points: G g.
void transform_axis(Points& points, const kernels::WinogradAxis& axis, int64_t stride) {
  const auto count = static_cast<int64_t>(points.size());
  for (int64_t first = 0; first < count; ++first) {
    if (first / stride % most_points != 0) continue;
    const auto at = [&](int64_t i) -> double& { return points[static_cast<size_t>(first + i * stride)]; };
    const std::array<double, 3> taps{at(0), at(1), at(2)};
    for (int64_t i = 0; i < axis.points(); ++i) {
      const double(&filter)[3] = axis.table()[i].filter;
      at(i) = filter[0] * taps[0] + filter[1] * taps[1] + filter[2] * taps[2];
    }
  }
}

Points transform_taps(const kernels::WinogradForm& form, const kernels::Axes& kernel, std::span<const float> taps) {
  const kernels::Axes tap_strides = form.ordered(strides);
  Points points{};
  size_t tap = 0;
  for (int64_t d = 0; d < kernel.d; ++d)
    for (int64_t h = 0; h < kernel.h; ++h)
      for (int64_t w = 0; w < kernel.w; ++w)
        points[static_cast<size_t>(d * tap_strides.d + h * tap_strides.h + w * tap_strides.w)] = taps[tap++];
  transform_axis(points, form.outer, strides.d);
  transform_axis(points, form.row, strides.h);
  transform_axis(points, form.column, strides.w);
  return points;
}

}  // namespace

std::vector<float> pack_winograd_weights(const kernels::WinogradPacking& packing, std::span<const float> weights) {
  const kernels::ConvShape& shape = packing.shape;
  internal_check(kernels::winograd_supports(shape, packing.tile),
                 "weights packed for a convolution that has no such Winograd form");
  const std::array dims = {shape.output_channels, shape.input_channels, shape.kernel.product()};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  const kernels::WinogradForm form = packing.form();
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  const auto taps = static_cast<size_t>(shape.kernel.product());
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input, source += taps) {
      const Points points = transform_taps(form, shape.kernel, weights.subspan(source, taps));
      for (int64_t outer = 0; outer < form.outer.points(); ++outer)
        for (int64_t row = 0; row < form.row.points(); ++row)
          for (int64_t column = 0; column < form.column.points(); ++column)
            packed[static_cast<size_t>(packing.offset({outer, row, column}, output, input))] =
                static_cast<float>(points[static_cast<size_t>(outer * strides.d + row * strides.h + column)]);
    }
  return packed;
}

}  // namespace onnxc
