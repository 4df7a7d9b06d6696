// The convolution by tiles (conv_tiles.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv/conv_strip.h"

namespace onnxc::kernels {

// Packed weights, in bytes: for each tile of 16 output channels, of bytes the row of int32 with which its sums begin;
// then [block of input channels][tap][word of input channels][output channel][of the word]. A word of 32 bits holds two
// bfloat16 or four bytes. One tap of one block is a tile, a step of the reduction. Padding is zero.
struct TilesPacking {
  static constexpr int64_t row_bytes = 64, step_outputs = 16, step_bytes = step_outputs * row_bytes;

  ConvShape shape;
  int64_t input_bytes;  // of an input: 2 of bfloat16, or 1

  constexpr int64_t step_inputs() const { return row_bytes / input_bytes; }
  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, step_inputs()); }
  constexpr int64_t output_tiles() const { return divide_up(shape.output_channels, step_outputs); }
  constexpr int64_t steps() const { return input_blocks() * shape.kernel.product(); }
  constexpr int64_t start_bytes() const { return input_bytes == 1 ? row_bytes : 0; }
  constexpr int64_t output_tile_bytes() const { return start_bytes() + steps() * step_bytes; }
  constexpr int64_t size() const { return output_tiles() * output_tile_bytes(); }
  // Of the start of an output channel's sum.
  constexpr int64_t start_offset(int64_t output) const {
    return output / step_outputs * output_tile_bytes() + output % step_outputs * 4;
  }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t step = input / step_inputs() * shape.kernel.product() + tap;
    const int64_t byte = input % step_inputs() * input_bytes;
    return output / step_outputs * output_tile_bytes() + start_bytes() + step * step_bytes + byte / 4 * row_bytes +
           output % step_outputs * 4 + byte % 4;
  }
};

// Any kernel, stride and dilation; one group.
constexpr bool tiles_support(const ConvShape& shape) { return shape.groups == 1; }

// A task computes a strip, and of its output channels a split of the tiles.
struct TilesGeometry : StripGeometry, OutputSplits {
  static constexpr int64_t group_tiles = 6;  // tiles of voxels that share one load of weights
  static constexpr int64_t group_voxels = group_tiles * 16;

  KernelWork work;
};

constexpr TilesGeometry tiles_geometry(const TilesPacking& packing, const ConvSizes& sizes) {
  constexpr int64_t wished_tasks = 16;
  constexpr int64_t strip_bytes = 768 * 1024;   // stay in the second-level cache beside a tile of outputs' weights
  constexpr int64_t cache_bytes = 1024 * 1024;  // of weights that strips may read again
  const bool has_many_weights = packing.size() > cache_bytes;
  const StripDemand demand{packing.input_blocks(), TilesPacking::row_bytes, strip_bytes, TilesGeometry::group_voxels,
                           has_many_weights ? 1 : wished_tasks};
  TilesGeometry result{strip_geometry(packing.shape, demand, sizes), {packing.output_tiles(), 1}, {}};
  if (result.tasks == 0) return result;
  if (has_many_weights)
    static_cast<OutputSplits&>(result) = split_outputs(packing.output_tiles(), result.tasks, wished_tasks);
  constexpr int64_t sums = TilesGeometry::group_voxels * TilesPacking::step_outputs * 4;
  constexpr int64_t spare_store = 1024;  // see conv_tiles.h
  result.work = {result.tasks * result.splits, result.strip_voxels * TilesPacking::row_bytes + sums + spare_store};
  return result;
}

}  // namespace onnxc::kernels
