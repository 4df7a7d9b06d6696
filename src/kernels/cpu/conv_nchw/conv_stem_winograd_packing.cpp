#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"

#include <array>

#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::StemWinogradAxis;
using kernels::StemWinogradPiece;

// The points of one axis with a piece of its taps each.
template <class Visit>
void for_each_point(const StemWinogradAxis& axis, const Visit& visit) {
  for (int64_t point = 0; point < axis.points(); ++point)
    for (int64_t piece = 0; piece < axis.pieces_at(point); ++piece) visit(point, piece);
}

// The weight of a point of each axis, from the taps of one piece each. `taps` is the kernel of two channels.
float transformed(const kernels::StemWinogradPacking& packing, std::span<const float> taps, int64_t depth_point,
                  int64_t depth_piece, int64_t height_point, int64_t height_piece, int64_t kw) {
  const StemWinogradAxis depth = packing.depth(), height = packing.height();
  const StemWinogradPiece planes = depth.piece(depth_piece), rows = height.piece(height_piece);
  const Axes& kernel = packing.shape.kernel;
  double sum = 0.0;
  for (int64_t d = 0; d < planes.taps; ++d)
    for (int64_t h = 0; h < rows.taps; ++h) {
      const int64_t kd = planes.first + d * depth.stride, kh = rows.first + h * height.stride;
      sum += depth.weight_of(depth_point, planes.taps, d) * height.weight_of(height_point, rows.taps, h) *
             static_cast<double>(taps[static_cast<size_t>((kd * kernel.h + kh) * kernel.w + kw)]);
    }
  return static_cast<float>(sum);
}

}  // namespace

std::vector<float> pack_stem_winograd_weights(const kernels::StemWinogradPacking& packing,
                                              std::span<const float> weights) {
  const kernels::ConvShape& shape = packing.shape;
  internal_check(kernels::stem_winograd_supports(shape), "weights packed for a convolution that has no Winograd form");
  const std::array dims = {shape.output_channels, shape.input_channels, shape.kernel.product()};
  internal_check(checked_product(dims) == static_cast<int64_t>(weights.size()),
                 "the number of weights is not what the convolution's shape says");
  std::vector<float> packed(static_cast<size_t>(packing.size()), 0.0f);
  const auto taps_of_pair = static_cast<size_t>(shape.kernel.product());
  size_t source = 0;
  for (int64_t output = 0; output < shape.output_channels; ++output)
    for (int64_t input = 0; input < shape.input_channels; ++input, source += taps_of_pair) {
      const std::span<const float> taps = weights.subspan(source, taps_of_pair);
      for (size_t tap = 0; tap < taps_of_pair; ++tap)
        packed[static_cast<size_t>(packing.plain(output, input, static_cast<int64_t>(tap)))] = taps[tap];
      for_each_point(packing.depth(), [&](int64_t depth_point, int64_t depth_piece) {
        for_each_point(packing.height(), [&](int64_t height_point, int64_t height_piece) {
          for (int64_t kw = 0; kw < shape.kernel.w; ++kw)
            packed[static_cast<size_t>(
                packing.offset(output, input, depth_point, depth_piece, height_point, height_piece, kw))] =
                transformed(packing, taps, depth_point, depth_piece, height_point, height_piece, kw);
        });
      });
    }
  return packed;
}

}  // namespace onnxc
