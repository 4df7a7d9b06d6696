// What the compiler, the host and the implicit-GEMM convolution must agree on: tiles, how weights are packed, how many
// blocks are launched. Pure functions.
//
// Activations are in blocks of 16 channels (nCdhw16c): 64 bytes a voxel and block, aligned and padded with zeros
// whatever the number of channels, and voxels of a row next to each other.
#pragma once

#include "codegen/kernels/conv_shape.h"

namespace onnxc::kernels {

inline constexpr int64_t gemm_channels = 16;  // of a block; what one step of the reduction takes at a tap

// What a block of 256 threads computes: voxels x output channels. Each of its four wavefronts has a quarter.
struct ConvTile {
  int64_t voxels, channels;
  constexpr bool operator==(const ConvTile&) const = default;
};

// Groups must cut the channels at block boundaries.
constexpr bool implicit_gemm_supports(const ConvShape& shape) {
  return shape.groups == 1 ||
         (shape.group_input_channels() % gemm_channels == 0 && shape.group_output_channels() % gemm_channels == 0);
}

// LDS that a block needs: rows of 16 channels padded to 20 floats, and where each voxel of the tile is.
inline constexpr int64_t lds_row = 20;
constexpr int64_t implicit_gemm_lds_bytes(const ConvTile& tile) {
  return (tile.voxels + tile.channels) * lds_row * 4 + tile.voxels * 16;
}

// Tiles from the largest; each fits a quarter of the 64 KiB of LDS of a compute unit, so that several blocks share it.
inline constexpr ConvTile conv_tiles[] = {{128, 128}, {128, 64}, {64, 64}};
static_assert(implicit_gemm_lds_bytes(conv_tiles[0]) <= 65536 / 2);

// The tile that wastes least, by the time that the slowest compute unit works: tiles a unit, each costing its products
// and its loads. A dynamic output counts as large.
constexpr ConvTile choose_conv_tile(const ConvShape& shape, int64_t voxels) {
  constexpr int64_t compute_units = 304;
  ConvTile best = conv_tiles[0];
  int64_t least = INT64_MAX;
  for (const ConvTile& tile : conv_tiles) {
    const int64_t tiles =
        divide_up(voxels, tile.voxels) * divide_up(shape.group_output_channels(), tile.channels) * shape.groups;
    const int64_t cost =
        divide_up(tiles, compute_units) * (tile.voxels * tile.channels / 32 + tile.voxels + tile.channels);
    if (cost < least) {
      least = cost;
      best = tile;
    }
  }
  return best;
}

// Packed weights: [group][tap][input block][output channel, padded to whole tiles][16 input channels]. What one step of
// a tile reads is contiguous. What is padded is zero.
struct GemmPacking {
  ConvShape shape;
  ConvTile tile;

  constexpr int64_t input_blocks() const { return divide_up(shape.group_input_channels(), gemm_channels); }
  constexpr int64_t rows() const { return round_up(shape.group_output_channels(), tile.channels); }
  constexpr int64_t offset(int64_t group, int64_t tap, int64_t input_block, int64_t row) const {
    return (((group * shape.kernel.product() + tap) * input_blocks() + input_block) * rows() + row) * gemm_channels;
  }
  constexpr int64_t size() const { return offset(shape.groups, 0, 0, 0); }
};

// Blocks of a launch: tiles of voxels, of channels of a group, groups, images; channels run fastest, so that blocks
// that run together share their input.
constexpr int64_t implicit_gemm_blocks(const ConvShape& shape, const ConvTile& tile, const ConvSizes& sizes) {
  return sizes.batch * shape.groups * divide_up(sizes.output.product(), tile.voxels) *
         divide_up(shape.group_output_channels(), tile.channels);
}

}  // namespace onnxc::kernels
