#include "codegen/cpu/calls/packing_winograd.h"

#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// G g: three taps to four points.
std::array<double, 4> transform(double a, double b, double c) { return {a, 0.5 * (a + b + c), 0.5 * (a - b + c), c}; }

// Replaces the taps of one axis, whose neighbours stand `stride` apart in an array of 4x4x4 points, by points.
void transform_axis(std::array<double, 64>& points, int64_t stride) {
  for (int64_t first = 0; first < 64; ++first) {
    if (first / stride % 4 != 0) continue;
    const auto at = [&](int64_t i) -> double& { return points[static_cast<size_t>(first + i * stride)]; };
    const std::array<double, 4> transformed = transform(at(0), at(1), at(2));
    for (int64_t i = 0; i < 4; ++i) at(i) = transformed[static_cast<size_t>(i)];
  }
}

// The points of a pair of channels. Axes in the kernel's order: outer, row, column; one that is passed through has one.
std::array<double, 64> transform_taps(const kernels::WinogradForm& form, const kernels::Axes& kernel,
                                      std::span<const float> taps) {
  constexpr kernels::Axes strides{16, 4, 1};
  const kernels::Axes tap_strides = form.ordered(strides);
  std::array<double, 64> points{};
  size_t tap = 0;
  for (int64_t d = 0; d < kernel.d; ++d)
    for (int64_t h = 0; h < kernel.h; ++h)
      for (int64_t w = 0; w < kernel.w; ++w)
        points[static_cast<size_t>(d * tap_strides.d + h * tap_strides.h + w * tap_strides.w)] = taps[tap++];
  if (form.outer) transform_axis(points, strides.d);
  if (form.row) transform_axis(points, strides.h);
  if (form.column) transform_axis(points, strides.w);
  return points;
}

}  // namespace

std::vector<float> pack_winograd_weights(const kernels::WinogradPacking& packing, std::span<const float> weights) {
  const kernels::ConvShape& shape = packing.shape;
  internal_check(kernels::winograd_supports(shape), "weights packed for a convolution that has no Winograd form");
  const std::array dims = {shape.output_channels, shape.input_channels, shape.kernel.product()};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  const kernels::WinogradForm form = packing.form();
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  const auto taps = static_cast<size_t>(shape.kernel.product());
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input, source += taps) {
      const std::array<double, 64> points = transform_taps(form, shape.kernel, weights.subspan(source, taps));
      // Points are in 4x4x4; where outer is passed through its only point is the first, and so on.
      const int64_t row_points = form.row ? 4 : 1;
      for (int64_t line = 0; line < form.line_points(); ++line)
        for (int64_t column = 0; column < form.column_points(); ++column)
          packed[static_cast<size_t>(packing.offset(line, column, output, input))] =
              static_cast<float>(points[static_cast<size_t>(line / row_points * 16 + line % row_points * 4 + column)]);
    }
  return packed;
}

}  // namespace onnxc
