// What the compiler, the weight packer and conv_planar_winograd.h must agree on.
#pragma once

#include "codegen/cpu/kernels/conv_stem_winograd_geometry.h"

namespace onnxc::kernels {

// Output channels and vectors of voxels of a register tile; two points of each are computed at once.
struct PlanarWinogradTile {
  int channels, vectors;
};

// What leaves registers for a vector of each column and a broadcast weight. A chunk's last channels may be padding; of
// tiles of eight lanes that of three channels is an eighth faster.
constexpr PlanarWinogradTile planar_winograd_tile(int64_t output_channels, int target_lanes) {
  if (target_lanes == 8) {
    if (output_channels == 1) return {1, 4};
    const bool takes_three = 8 * round_up(output_channels, 3) <= 9 * round_up(output_channels, 2);
    return takes_three ? PlanarWinogradTile{3, 2} : PlanarWinogradTile{2, 3};
  }
  const int64_t channels = divide_up(output_channels, divide_up(output_channels, 4));
  return {static_cast<int>(channels), 3};
}

// The weights are those of a stem, in chunks of the channels of a register tile.
constexpr StemWinogradPacking planar_winograd_packing(const ConvShape& shape, int target_lanes) {
  return {shape, planar_winograd_tile(shape.output_channels, target_lanes).channels, 1};
}

constexpr bool planar_winograd_supports(const ConvShape& shape) {
  return shape.stride.w == 1 && stem_winograd_supports(shape);
}

// A task computes all channels of a band of tiles of the height for one tile of the depth. Behind what is of the input
// its scratch holds the outputs so far of a segment of the tile's rows, of the channels of a register tile
// [output of the depth][output of the height][channel][voxel].
struct PlanarWinogradGeometry {
  StemWinogradBands input;
  int64_t segment_vectors;
  int64_t output_offset;  // in elements
  KernelWork work;
};

constexpr PlanarWinogradGeometry planar_winograd_geometry(const ConvShape& shape, const ConvSizes& sizes,
                                                          int target_lanes) {
  constexpr int64_t element = static_cast<int64_t>(sizeof(float));
  constexpr int64_t segment_bytes = 24 * 1024;  // of the input: half of a first-level cache
  const StemWinogradPacking packing = planar_winograd_packing(shape, target_lanes);
  const PlanarWinogradTile tile = planar_winograd_tile(shape.output_channels, target_lanes);
  PlanarWinogradGeometry result{};
  const int64_t vectors = divide_up(sizes.output.w, target_lanes);
  const int64_t columns = vectors * target_lanes + (shape.kernel.w - 1) * shape.dilation.w;
  result.input = stem_winograd_bands(shape, sizes, columns, target_lanes);
  const int64_t terms = shape.input_channels * packing.depth().terms() * packing.height().terms();
  const int64_t fitting = larger(1, segment_bytes / (terms * target_lanes * element));
  result.segment_vectors = smaller(vectors, round_up(fitting, tile.vectors));
  result.output_offset = result.input.size;
  const int64_t sums = packing.depth().outputs() * packing.height().outputs() * tile.channels * result.segment_vectors;
  result.work = {result.input.tasks, (result.output_offset + sums * target_lanes) * element};
  return result;
}

}  // namespace onnxc::kernels
