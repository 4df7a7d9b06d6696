// The convolution by tiles (conv_tiles.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv/conv_strip.h"

namespace onnxc::kernels {

// Packed weights: [tile of 16 output channels][block of 32 input channels][tap][pair of input channels][output
// channel][of the pair], bfloat16. One tap of one block is a tile, a step of the reduction. Padding is zero.
struct TilesPacking {
  static constexpr int64_t step_inputs = 32, step_outputs = 16, step_elements = step_inputs * step_outputs;

  ConvShape shape;

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, step_inputs); }
  constexpr int64_t output_tiles() const { return divide_up(shape.output_channels, step_outputs); }
  constexpr int64_t steps() const { return input_blocks() * shape.kernel.product(); }
  constexpr int64_t size() const { return output_tiles() * steps() * step_elements; }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t step = input / step_inputs * shape.kernel.product() + tap;
    const int64_t in_step = input % step_inputs;
    return (output / step_outputs * steps() + step) * step_elements + in_step / 2 * 2 * step_outputs +
           output % step_outputs * 2 + in_step % 2;
  }
};

// Any kernel, stride and dilation; one group.
constexpr bool tiles_support(const ConvShape& shape) { return shape.groups == 1; }

struct TilesGeometry : StripGeometry {
  static constexpr int64_t group_tiles = 6;  // tiles of voxels that share one load of weights
  static constexpr int64_t group_voxels = group_tiles * 16;

  KernelWork work;
};

constexpr TilesGeometry tiles_geometry(const TilesPacking& packing, const ConvSizes& sizes) {
  constexpr int64_t voxel_bytes = TilesPacking::step_inputs * 2;
  // The strip stays in the second-level cache beside the weights of a tile of outputs.
  const StripDemand demand{packing.input_blocks(), voxel_bytes, 768 * 1024, TilesGeometry::group_voxels, 16};
  TilesGeometry result{strip_geometry(packing.shape, demand, sizes), {}};
  const int64_t sums = TilesGeometry::group_voxels * TilesPacking::step_outputs * static_cast<int64_t>(sizeof(float));
  constexpr int64_t spare_store = 1024;  // see conv_tiles.h
  if (result.tasks > 0) result.work = {result.tasks, result.strip_voxels * voxel_bytes + sums + spare_store};
  return result;
}

}  // namespace onnxc::kernels
