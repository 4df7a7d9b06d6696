// The contract of the compiler, the weight packer and conv_depthwise_int8.h. Tasks are those of conv_depthwise.h.
#pragma once

#include "kernels/cpu/conv/conv_depthwise_geometry.h"

namespace onnxc::kernels {

// As many output channels as input channels and groups; the taps of a row lie side by side.
constexpr bool depthwise_int8_supports(const ConvShape& shape) {
  return shape.groups == shape.input_channels && shape.output_channels == shape.input_channels &&
         (shape.dilation.w == 1 || shape.kernel.w == 1);
}

// Packed weights, in bytes: [channel block][kd][kh], and of each row the int32 sums of its weights, a lane each, then
// [quad of the row][lane][tap of the quad]. Padding is zero.
struct DepthwiseInt8Packing {
  ConvShape shape;
  int lanes;

  constexpr int64_t quads() const { return divide_up(shape.kernel.w, 4); }
  constexpr int64_t vector_bytes() const { return 4 * lanes; }
  constexpr int64_t row_bytes() const { return (1 + quads()) * vector_bytes(); }
  constexpr int64_t block_bytes() const { return shape.kernel.d * shape.kernel.h * row_bytes(); }
  constexpr int64_t size() const { return divide_up(shape.output_channels, lanes) * block_bytes(); }
  // The offset of the sum of row `row` of a channel's taps, numbered in row-major order.
  constexpr int64_t sum_offset(int64_t channel, int64_t row) const {
    return channel / lanes * block_bytes() + row * row_bytes() + channel % lanes * 4;
  }
  constexpr int64_t offset(int64_t channel, int64_t tap) const {
    const int64_t kw = tap % shape.kernel.w;
    return sum_offset(channel, tap / shape.kernel.w) + (1 + kw / 4) * vector_bytes() + kw % 4;
  }
};

}  // namespace onnxc::kernels
