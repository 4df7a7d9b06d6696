// The contract of the compiler, the weight packer and conv_planar_winograd.h.
#pragma once

#include "kernels/cpu/conv_nchw/conv_stem_winograd_geometry.h"

namespace onnxc::kernels {

// A register tile's output channels and vectors of voxels; it computes two points of each at once.
struct PlanarWinogradTile {
  int channels, vectors;
};

// Tiles that leave registers for a vector of each column and a broadcast weight. A chunk's last channels may be
// padding; with 16 registers three channels are an eighth faster.
constexpr PlanarWinogradTile planar_winograd_tile(int64_t output_channels, int target_lanes) {
  if (!machine::vector_unit(target_lanes).has_many_registers()) {
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

// Vectors in one segment of a row of `vectors`: whole register tiles, or the rest of the row.
constexpr int64_t planar_winograd_segment(const ConvShape& shape, int64_t vectors, int target_lanes) {
  constexpr int64_t segment_bytes = 24 * 1024;  // of the input: half of a first-level cache
  const StemWinogradPacking packing = planar_winograd_packing(shape, target_lanes);
  const int64_t terms = shape.input_channels * packing.depth().terms() * packing.height().terms();
  const int64_t fitting = larger(1, segment_bytes / (terms * target_lanes * static_cast<int64_t>(sizeof(float))));
  return smaller(vectors, round_up(fitting, planar_winograd_tile(shape.output_channels, target_lanes).vectors));
}

// Whether a row of this width (0: any width) is cut into a register tile of so many vectors. Tiles have at most `most`
// vectors and are as even as possible.
constexpr bool planar_winograd_has_tile(const ConvShape& shape, int64_t width, int64_t most, int64_t vectors,
                                        int target_lanes) {
  if (width == 0) return true;
  const int64_t all = divide_up(width, target_lanes), segment = planar_winograd_segment(shape, all, target_lanes);
  const int64_t lengths[] = {segment, all % segment};  // of a segment, and of what is left in the end
  for (int64_t left : lengths)
    for (int64_t tiles = divide_up(left, most); tiles > 0; --tiles) {
      const int64_t count = divide_up(left, tiles);
      if (count == vectors) return true;
      left -= count;
    }
  return false;
}

// The vectors of a row's register tiles if all have as many; else 0.
constexpr int64_t planar_winograd_equal_tiles(const ConvShape& shape, int64_t width, int64_t most, int target_lanes) {
  int64_t result = 0;
  for (int64_t vectors = 1; vectors <= most; ++vectors)
    if (planar_winograd_has_tile(shape, width, most, vectors, target_lanes)) result = result == 0 ? vectors : -1;
  return larger(result, 0);
}

// A task computes all channels of a band of tiles along the height, for one tile of the depth, one segment of the rows
// after another. Its scratch holds the transformed input.
struct PlanarWinogradGeometry {
  StemWinogradBands input;
  int64_t segment_vectors;
  KernelWork work;
};

constexpr PlanarWinogradGeometry planar_winograd_geometry(const ConvShape& shape, const ConvSizes& sizes,
                                                          int target_lanes) {
  constexpr int64_t element = static_cast<int64_t>(sizeof(float));
  PlanarWinogradGeometry result{};
  const int64_t vectors = divide_up(sizes.output.w, target_lanes);
  const int64_t columns = vectors * target_lanes + (shape.kernel.w - 1) * shape.dilation.w;
  result.input = stem_winograd_bands(shape, sizes, columns, target_lanes);
  result.segment_vectors = planar_winograd_segment(shape, vectors, target_lanes);
  result.work = {result.input.tasks, result.input.size * element};
  return result;
}

}  // namespace onnxc::kernels
