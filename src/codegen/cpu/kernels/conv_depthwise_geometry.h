// What the compiler, the weight packer and the depthwise convolution kernel (conv_depthwise.h) must agree on.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"

namespace onnxc::kernels {

// One filter a channel: as many groups and output channels as input channels.
constexpr bool depthwise_supports(const ConvShape& shape) {
  return shape.groups == shape.input_channels && shape.output_channels == shape.input_channels;
}

// Packed weights: [channel block][kd][kh][kw][lane]; channels that pad the last block are zero.
struct DepthwisePacking {
  ConvShape shape;
  int lanes;

  constexpr int64_t blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t block_size() const { return shape.kernel.product() * lanes; }
  constexpr int64_t size() const { return blocks() * block_size(); }
  constexpr int64_t offset(int64_t channel, int64_t tap) const {
    return channel / lanes * block_size() + tap * lanes + channel % lanes;
  }
};

// A task computes a band of rows of one channel block, plane after plane: the input planes that the next output plane
// shares with this one are still in the second-level cache.
struct DepthwiseGeometry {
  int64_t band_rows, bands;
  int64_t range_planes, ranges;
  KernelWork work;
};

constexpr DepthwiseGeometry depthwise_geometry(const ConvShape& shape, int target_lanes, const ConvSizes& sizes) {
  constexpr int64_t band_bytes = 192 * 1024, least_task_bytes = 64 * 1024, wished_tasks = 64;
  if (sizes.batch == 0 || sizes.output.product() == 0) return {0, 0, 0, 0, {0, 0}};
  const int64_t blocks = divide_up(shape.output_channels, target_lanes);
  const int64_t output_row_bytes = sizes.output.w * target_lanes * static_cast<int64_t>(sizeof(float));
  const int64_t input_row_bytes = larger(1, sizes.input.w * target_lanes * static_cast<int64_t>(sizeof(float)));
  const int64_t input_rows = band_bytes / input_row_bytes / shape.kernel.d;
  const int64_t fitting_rows = larger(4, (input_rows - shape.kernel.h) / shape.stride.h);
  const int64_t bands = divide_up(sizes.output.h, fitting_rows);
  const int64_t band_rows = divide_up(sizes.output.h, bands);
  const int64_t exact_bands = divide_up(sizes.output.h, band_rows);

  const int64_t wished_ranges = divide_up(wished_tasks, sizes.batch * blocks * exact_bands);
  const int64_t least_planes = divide_up(least_task_bytes, output_row_bytes * band_rows);
  const int64_t range_planes = smaller(sizes.output.d, larger(least_planes, divide_up(sizes.output.d, wished_ranges)));
  const int64_t ranges = divide_up(sizes.output.d, range_planes);
  return {band_rows, exact_bands, range_planes, ranges, {sizes.batch * blocks * exact_bands * ranges, 0}};
}

}  // namespace onnxc::kernels
