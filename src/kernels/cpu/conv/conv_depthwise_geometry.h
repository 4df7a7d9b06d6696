// The contract of the compiler, the weight packer and the depthwise convolution kernel (conv_depthwise.h).
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// As many output channels as input channels, in groups of one channel, or of 2, 4, ... below the lanes.
constexpr bool depthwise_supports(const ConvShape& shape, int vector_lanes) {
  const int64_t members = shape.input_channels / shape.groups;
  return shape.output_channels == shape.input_channels && members < vector_lanes && vector_lanes % members == 0;
}

// How many voxels a vector holds: a block with channels in only a half or a quarter is computed two or four voxels at a
// time. With a stride, or with 16 registers, a tile's elements would not fit these.
constexpr int depthwise_voxels(const ConvShape& shape, int vector_lanes) {
  if (shape.stride.w > 1 || !machine::vector_unit(vector_lanes).has_many_registers()) return 1;
  return shape.output_channels * 4 <= vector_lanes ? 4 : shape.output_channels * 2 <= vector_lanes ? 2 : 1;
}

// For bytes, whose sums of whole numbers are floats: these hold them up to 2^24.
constexpr bool depthwise_supports_bytes(const ConvShape& shape, int vector_lanes) {
  constexpr int64_t most_products = (1 << 24) / (255 * 128);
  return depthwise_supports(shape, vector_lanes) &&
         shape.input_channels / shape.groups * shape.kernel.product() <= most_products;
}

// Packed weights: [channel block][kd][kh][member][kw][lane]; the padding of the last block is zero. Member m holds, for
// channel i of a group, its weight for input channel i ^ m of the group: over all m each channel meets every input
// channel once, and a lane permutation brings it there.
struct DepthwisePacking {
  ConvShape shape;
  int lanes;

  constexpr int64_t members() const { return shape.input_channels / shape.groups; }
  constexpr int64_t blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t row_size() const { return shape.kernel.w * lanes; }
  constexpr int64_t block_size() const { return shape.kernel.product() * members() * lanes; }
  constexpr int64_t size() const { return blocks() * block_size(); }
  // The offset of the weight of output `channel` for input channel number `input` of its group.
  constexpr int64_t offset(int64_t channel, int64_t input, int64_t tap) const {
    const int64_t member = channel % members() ^ input;
    return channel / lanes * block_size() + (tap / shape.kernel.w * members() + member) * row_size() +
           tap % shape.kernel.w * lanes + channel % lanes;
  }
};

// A task computes a band of output rows of one channel block, plane after plane. As many input planes as the kernel is
// deep stay in the first-level cache, so each is read once per band; if a single row does not fit there, the band's
// rows stay in the second-level cache.
struct DepthwiseGeometry {
  int64_t band_rows, bands;
  int64_t range_planes, ranges;
  KernelWork work;
};

constexpr DepthwiseGeometry depthwise_geometry(const ConvShape& shape, int target_lanes, const ConvSizes& sizes) {
  constexpr int64_t first_level_bytes = 48 * 1024, second_level_bytes = 192 * 1024, least_second_level_rows = 4;
  constexpr int64_t least_task_bytes = 64 * 1024, wished_tasks = 64;
  if (sizes.batch == 0 || sizes.output.product() == 0) return {0, 0, 0, 0, {0, 0}};
  const int64_t blocks = divide_up(shape.output_channels, target_lanes);
  const int64_t output_row_bytes = sizes.output.w * target_lanes * static_cast<int64_t>(sizeof(float));
  const int64_t input_row_bytes = larger(1, sizes.input.w * target_lanes * static_cast<int64_t>(sizeof(float)));
  const int64_t rows_of_one = (shape.kernel.h - 1) * shape.dilation.h + 1;
  // Rows of outputs whose input takes so many bytes.
  const auto fitting_rows = [&](int64_t bytes) {
    const int64_t rows = bytes / input_row_bytes / shape.kernel.d - rows_of_one;
    return rows < 0 ? 0 : rows / shape.stride.h + 1;
  };
  const int64_t first_level_rows = fitting_rows(first_level_bytes);
  const int64_t most_rows =
      first_level_rows > 0 ? first_level_rows : larger(least_second_level_rows, fitting_rows(second_level_bytes));
  const int64_t bands = divide_up(sizes.output.h, most_rows);
  const int64_t band_rows = divide_up(sizes.output.h, bands);
  const int64_t exact_bands = divide_up(sizes.output.h, band_rows);

  const int64_t wished_ranges = divide_up(wished_tasks, sizes.batch * blocks * exact_bands);
  const int64_t least_planes = divide_up(least_task_bytes, output_row_bytes * band_rows);
  const int64_t range_planes = smaller(sizes.output.d, larger(least_planes, divide_up(sizes.output.d, wished_ranges)));
  const int64_t ranges = divide_up(sizes.output.d, range_planes);
  return {band_rows, exact_bands, range_planes, ranges, {sizes.batch * blocks * exact_bands * ranges, 0}};
}

}  // namespace onnxc::kernels
