#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"

#include <algorithm>
#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"
#include "support/parallel.h"

namespace onnxc {
namespace {

// For one input channel and a block of output channels: [outer][row][column], axes in the kernel's order.
constexpr int64_t most_points = 6, most_lanes = 16;
constexpr kernels::Axes strides{most_points * most_points, most_points, 1};
using Lanes = std::array<double, static_cast<size_t>(most_lanes)>;
using Points = std::array<Lanes, static_cast<size_t>(most_points* most_points* most_points)>;

size_t index_of(const kernels::Axes& point) {
  return static_cast<size_t>(point.d * strides.d + point.h * strides.h + point.w);
}

template <class Visit>
void for_each(const kernels::Axes& extents, const Visit& visit) {
  for (int64_t d = 0; d < extents.d; ++d)
    for (int64_t h = 0; h < extents.h; ++h)
      for (int64_t w = 0; w < extents.w; ++w) visit(kernels::Axes{d, h, w});
}

// Replaces the taps of one axis, whose neighbours stand `stride` apart, by points, G g, from each of `starts`.
void transform_axis(Points& points, const kernels::WinogradAxis& axis, int64_t stride, const kernels::Axes& starts) {
  for_each(starts, [&](const kernels::Axes& start) {
    Lanes* const line = &points[index_of(start)];
    std::array<Lanes, static_cast<size_t>(kernels::WinogradPoint::most_taps)> taps;
    for (int64_t tap = 0; tap < axis.taps; ++tap) taps[static_cast<size_t>(tap)] = line[tap * stride];
    for (int64_t i = 0; i < axis.points(); ++i) {
      const kernels::WinogradPoint& point = axis.table()[i];
      Lanes& result = line[i * stride];
      result.fill(0.0);
      for (int64_t tap = 0; tap < axis.taps; ++tap)
        for (size_t lane = 0; lane < result.size(); ++lane)
          result[lane] += point.filter[tap] * taps[static_cast<size_t>(tap)][lane];
    }
  });
}

}  // namespace

std::vector<float> pack_winograd_weights(const kernels::WinogradPacking& packing, std::span<const float> weights) {
  const kernels::ConvShape& shape = packing.shape;
  internal_check(kernels::winograd_supports(shape, packing.tile),
                 "weights packed for a convolution that has no such Winograd form");
  const std::array dims = {shape.output_channels, shape.input_channels, shape.kernel.product()};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  internal_check(packing.lanes <= most_lanes, "a block of output channels as wide as a vector");
  const kernels::WinogradForm form = packing.form();
  const kernels::Axes kernel = form.ordered(shape.kernel);
  const kernels::Axes form_points{form.outer.points(), form.row.points(), form.column.points()};
  const int64_t taps = shape.kernel.product();
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  parallel_for(packing.output_blocks(), [&](int64_t block) {
    const int64_t first = block * packing.lanes;
    const auto count = static_cast<size_t>(std::min<int64_t>(packing.lanes, shape.output_channels - first));
    // If an axis has one tap the places of the others stay zero.
    Points points{};
    for (int64_t input = 0; input < shape.input_channels; ++input) {
      for (size_t lane = 0; lane < count; ++lane) {
        const int64_t pair = (first + static_cast<int64_t>(lane)) * shape.input_channels + input;
        const float* tap = &weights[static_cast<size_t>(pair * taps)];
        for_each(shape.kernel, [&](const kernels::Axes& at) {
          points[index_of(form.ordered(at))][lane] = static_cast<double>(*tap++);
        });
      }
      transform_axis(points, form.outer, strides.d, {1, kernel.h, kernel.w});
      transform_axis(points, form.row, strides.h, {form_points.d, 1, kernel.w});
      transform_axis(points, form.column, strides.w, {form_points.d, form_points.h, 1});
      for_each(form_points, [&](const kernels::Axes& point) {
        float* const to = &packed[static_cast<size_t>(packing.offset(point, first, input))];
        const Lanes& from = points[index_of(point)];
        for (size_t lane = 0; lane < count; ++lane) to[lane] = static_cast<float>(from[lane]);
      });
    }
  });
  return packed;
}

}  // namespace onnxc
