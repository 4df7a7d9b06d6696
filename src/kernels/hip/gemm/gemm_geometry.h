// What the compiler, the host and the implicit-GEMM kernel must agree on: how products are made, tiles, the order of
// the reduction, how weights are packed, how many blocks are launched. Pure functions.
//
// Activations of convolutions are in blocks of 16 channels (nCdhw16c): 64 bytes of float a voxel and block, aligned and
// padded with zeros whatever the number of channels, and voxels of a row next to each other. A row-major matrix is such
// a tensor too, where its columns are whole blocks: only its strides differ.
#pragma once

#include "kernels/hip/wave/divisor.h"
#include "kernels/hip/wave/launch.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// How the matrix unit makes a product. Sums are float32 always.
enum class Products {
  float32,   // v_mfma_f32_32x32x2_f32: exact to float32
  xf32,      // v_mfma_f32_32x32x4_xf32: operands keep 10 bits of mantissa
  bf16x3,    // operands as the sum of two bfloat16: 16 bits of mantissa, three products; an infinity becomes a NaN
  float16,   // v_mfma_f32_32x32x8_f16, for operands stored as float16: exact
  bfloat16,  // v_mfma_f32_32x32x8_bf16_1k, for operands stored as bfloat16: exact
};

constexpr bool is_half(Products products) { return products == Products::float16 || products == Products::bfloat16; }

// Cycles that a SIMD unit needs for the products of a 32x32 tile over 16 elements of the reduction
// (AMD's matrix calculator).
constexpr int64_t product_cycles(Products products) {
  switch (products) {
    case Products::float32:
      return 8 * 64;
    case Products::xf32:
      return 4 * 32;
    case Products::bf16x3:
      return 6 * 32;
    case Products::float16:
    case Products::bfloat16:
      return 2 * 32;
  }
}

// What a block of 256 threads computes: rows (voxels of a convolution) x columns (output channels). Each of its four
// wavefronts has a quarter, in 32x32 accumulators.
struct GemmTile {
  int64_t rows, columns;
  constexpr bool operator==(const GemmTile&) const = default;
  constexpr int64_t column_waves() const { return columns >= 64 ? 2 : 1; }
  constexpr int64_t row_waves() const { return 4 / column_waves(); }
  // Wavefronts that a SIMD unit has room for, with 512 registers: a lane has its sums and some others.
  constexpr int64_t waves(int64_t others = 64) const {
    return smaller(gpu.registers / (rows * columns / 256 + others), gpu.waves_per_simd);
  }
};
inline constexpr GemmTile gemm_tiles[] = {{256, 128}, {128, 128}, {64, 256}, {128, 64}, {64, 64}, {128, 32}};

// In LDS an operand's row is 64 bytes of one step of the reduction: four chunks of 16, whose order changes from row to
// row so that the lanes of each phase of an access hit different banks. Reads have one chunk of four rows next to each
// other and of four that are 20 or 12 rows away; writes have all chunks of two rows, one of eight rows, or (8 bytes of
// each, in bf16x3) two of four rows.
inline constexpr int64_t chunk_bytes = 16, lds_row_bytes = 64;
constexpr int lds_place(int row, int chunk) {
  const int order = (row & 2) | (row >> 2 & 1);
  return row * static_cast<int>(lds_row_bytes) + (chunk ^ order) * static_cast<int>(chunk_bytes);
}
// All threads store the same number of chunks: of a narrow tile's columns there are two copies, one of which is read.
constexpr int64_t lds_columns(const GemmTile& tile) { return larger(tile.columns, 64); }
constexpr int64_t gemm_lds_bytes(const GemmTile& tile) { return (tile.rows + lds_columns(tile)) * lds_row_bytes; }
// Blocks that a compute unit holds at once: of each, a wavefront is on each of its SIMD units.
constexpr int64_t blocks_a_unit(const GemmTile& tile) {
  return smaller(tile.waves(), gpu.lds_bytes / gemm_lds_bytes(tile));
}

// Where tiles are few, the reduction of each is cut into parts, each a block's, until the GPU has two blocks for each
// of its compute units. A part should be long enough to be worth its beginning and its end.
inline constexpr int64_t blocks_of_parts = 2 * compute_units, least_part_steps = 8;

// Strides in elements: of images, of groups, of blocks of channels, and of the axes; the last three in 31 bits.
struct GemmView {
  int64_t batch, group, block, d, h, w;
  constexpr bool fits() const {
    constexpr int64_t most = int64_t{1} << 31;
    return d < most && h < most && w < most;
  }
};
// Of a strided second operand, in elements.
struct WeightView {
  int64_t batch, group, k, column;
};

// What a block needs to know in order to find its place: how many tiles there are, into how many parts the reduction of
// each is cut, how many rows and tiles of rows an image has, and the extents of the grid that rows are counted over.
struct GemmLaunch {
  uint32_t tiles, parts, rows;
  Divisor row_tiles, width, height, batch;
};

// How the first operand is read.
enum class InputOrder {
  blocks,    // 16 channels lie next to each other and are padded with zeros: loads of 16 bytes
  elements,  // channels anywhere, a load each: groups that cut blocks
  planar,    // the same, but voxels lie next to each other: lanes of a wavefront load a channel of 64 voxels
};

// How the second operand is read.
enum class WeightOrder {
  packed,   // constant, in the order of GemmPlan::weight_offset
  strided,  // a matrix made at run time
};

// A convolution or matrix product as the kernel computes it; its template argument.
struct GemmPlan {
  ConvShape shape;
  bool transposed = false;  // a transposed convolution
  Products products = Products::float32;
  GemmTile tile = gemm_tiles[1];
  InputOrder input_order = InputOrder::blocks;
  int64_t input_lanes = block_channels;  // of a block of the input; 1: each channel has a stride of its own
  WeightOrder weight_order = WeightOrder::packed;
  // Operands are row-major matrices: nothing is padded, and a group is one of a batch of matrices rather than a part of
  // the channels.
  bool matrix_product = false;
  bool is_split = false;                  // may cut the reduction into parts
  int64_t output_lanes = block_channels;  // of a block of the output; 1: each channel has a stride of its own

  constexpr bool operator==(const GemmPlan&) const = default;

  constexpr int64_t taps() const { return shape.kernel.product(); }
  constexpr int64_t input_blocks() const { return divide_up(shape.group_input_channels(), block_channels); }
  // Halves that are loaded one by one wait in a register each.
  constexpr int64_t waves() const {
    return is_half(products) && input_order == InputOrder::elements ? tile.waves(80) : tile.waves();
  }
  // Elements of the reduction in a step, and the segments of 16 channels at one tap that they are in.
  constexpr int64_t depth() const { return is_half(products) ? 32 : 16; }
  constexpr int64_t segments() const { return depth() / block_channels; }

  // Whether the two segments of a step are two blocks of channels at one tap; else they are two taps one after the
  // other, which costs the kernel more index arithmetic but wastes nothing on an odd number of blocks.
  constexpr bool pairs_blocks() const {
    return transposed || segments() == 1 || input_blocks() % 2 == 0 || input_blocks() > 6;
  }
  constexpr int64_t steps() const {
    if (input_order != InputOrder::blocks) return divide_up(taps() * shape.group_input_channels(), depth());
    if (pairs_blocks()) return divide_up(input_blocks(), segments()) * taps();
    return divide_up(input_blocks() * taps(), segments());
  }

  // Element `k` of a step: a tap and an input channel of the group. Those past the last tap or channel are padding.
  // Taps run before blocks of channels, so that a tile of the input is read from cache after its first tap.
  struct Place {
    int32_t tap, channel;
  };
  // The matrix unit takes the same elements of two chunks at once. They lie next to each other in the reduction, so
  // that its padding fills whole products.
  constexpr uint32_t order_of_products(uint32_t k) const {
    const auto chunk = static_cast<uint32_t>(depth() / 4);
    return k / (2 * chunk) * (2 * chunk) + k % chunk * 2 + k / chunk % 2;
  }
  constexpr Place place(int32_t step, int32_t k) const {
    const auto tap_count = static_cast<uint32_t>(taps());
    const auto channels = static_cast<uint32_t>(shape.group_input_channels());
    if (input_order != InputOrder::blocks) {
      const uint32_t element =
          static_cast<uint32_t>(step) * static_cast<uint32_t>(depth()) + order_of_products(static_cast<uint32_t>(k));
      if (tap_count == 1) return {0, static_cast<int32_t>(element)};
      return {static_cast<int32_t>(element / channels), static_cast<int32_t>(element % channels)};
    }
    const uint32_t part = static_cast<uint32_t>(k) / 16, lane = static_cast<uint32_t>(k) % 16;
    if (pairs_blocks()) {
      const uint32_t pair = static_cast<uint32_t>(step) / tap_count;
      return {static_cast<int32_t>(static_cast<uint32_t>(step) % tap_count),
              static_cast<int32_t>((pair * static_cast<uint32_t>(segments()) + part) * 16 + lane)};
    }
    const uint32_t segment = static_cast<uint32_t>(step) * static_cast<uint32_t>(segments()) + part;
    return {static_cast<int32_t>(segment % tap_count), static_cast<int32_t>(segment / tap_count * 16 + lane)};
  }
  // Elements of a step and those behind it that are no padding.
  constexpr int64_t rest(int64_t step) const {
    if (input_order == InputOrder::blocks) return (steps() - step) * depth();
    return taps() * shape.group_input_channels() - step * depth();
  }
  constexpr bool is_inside(const Place& at) const {
    return at.tap < taps() && at.channel < shape.group_input_channels();
  }

  // Whether four columns next to each other are always stored or left out together.
  constexpr bool stores_fours() const {
    if (output_lanes == 1) return false;
    if (matrix_product) return shape.group_output_channels() % 4 == 0;
    return shape.groups == 1 || shape.group_output_channels() % block_channels == 0;
  }
  // Columns of a group, with those that pad the last block of the output's channels.
  constexpr int64_t group_columns() const {
    if (matrix_product) return shape.group_output_channels();
    return shape.group_output_channels() + round_up(shape.output_channels, block_channels) - shape.output_channels;
  }
  constexpr int64_t column_tiles() const { return divide_up(group_columns(), tile.columns); }

  // Packed weights: [group][step][column, padded to whole tiles][64 bytes of a step]; what is padded is zero. Elements
  // in the order of `place`; for bf16x3 all high parts before all low parts.
  constexpr int64_t row_elements() const { return products == Products::bf16x3 || is_half(products) ? 32 : 16; }
  constexpr int64_t weight_offset(int64_t group, int64_t step, int64_t column) const {
    return ((group * steps() + step) * column_tiles() * tile.columns + column) * row_elements();
  }
  constexpr int64_t weight_count() const { return weight_offset(shape.groups, 0, 0); }
  // Behind them a row of zeros: what lies outside of the input is read from there.
  constexpr int64_t packed_count() const { return weight_count() + row_elements(); }

  // Positions that rows are counted over. A strided transposed convolution is one convolution for each residue of the
  // output's position by the stride: each reads a part of the taps.
  constexpr int64_t residues() const { return transposed ? shape.stride.product() : 1; }
  constexpr Axes grid(const Axes& output) const {
    if (!transposed) return output;
    return {divide_up(output.d, shape.stride.d), divide_up(output.h, shape.stride.h),
            divide_up(output.w, shape.stride.w)};
  }

  // Positions are counted in 30 bits. Threads of a launch are in 32, which the runtime checks.
  static constexpr bool fits(const Axes& extents) {
    constexpr int64_t most = int64_t{1} << 30;
    return extents.d < most && extents.h < most && extents.w < most && extents.d * extents.h < most &&
           extents.product() < most;
  }
  // Tiles of the output, none possible where the sizes do not fit: tiles of columns run fastest, so that blocks that
  // run together share their input; then tiles of rows, residues, groups, images.
  constexpr int64_t tiles(const ConvSizes& sizes) const {
    if (!fits(sizes.input) || !fits(sizes.output)) return INT64_MAX;
    return sizes.batch * shape.groups * residues() * divide_up(grid(sizes.output).product(), tile.rows) *
           column_tiles();
  }
  // Parts that the reduction of each of so many tiles is cut into.
  constexpr int64_t parts(int64_t tile_count) const {
    if (!is_split || tile_count == 0) return 1;
    return larger(smaller(blocks_of_parts / tile_count, steps() / residues() / least_part_steps), 1);
  }
  constexpr int64_t parts(const ConvSizes& sizes) const { return parts(tiles(sizes)); }
  // Blocks of a launch: all tiles of one part after the other.
  constexpr int64_t blocks(const ConvSizes& sizes) const {
    const int64_t count = tiles(sizes);
    return count == INT64_MAX ? count : count * parts(count);
  }

  // No launch is possible where strides do not fit either.
  template <class Arguments>
  constexpr int64_t blocks_of(const Arguments& arguments) const {
    return arguments.input_view.fits() && arguments.output_view.fits() ? blocks(arguments.sizes) : INT64_MAX;
  }
  constexpr GemmLaunch launch(const ConvSizes& sizes) const {
    const Axes counted = grid(sizes.output);
    return {static_cast<uint32_t>(tiles(sizes)),
            static_cast<uint32_t>(parts(sizes)),
            static_cast<uint32_t>(counted.product()),
            Divisor::of(divide_up(counted.product(), tile.rows)),
            Divisor::of(counted.w),
            Divisor::of(counted.h),
            Divisor::of(sizes.batch)};
  }

  // Each block of a reduction in parts writes its sums to the workspace, the four of a thread that lie next to each
  // other in the output together: [part][tile][fours of a thread][thread][4]. A second launch, of a block for each
  // `fours of a thread`, sums up the parts in their order, so that the result does not depend on who was first.
  constexpr int64_t fours_a_thread() const { return tile.rows * tile.columns / (4 * nest_threads); }
  constexpr int64_t workspace_count(int64_t tile_count) const {
    return parts(tile_count) == 1 ? 0 : parts(tile_count) * tile_count * tile.rows * tile.columns;
  }
  // For any sizes.
  constexpr int64_t most_workspace_count() const { return is_split ? blocks_of_parts * tile.rows * tile.columns : 0; }
  constexpr int64_t combining_blocks(const ConvSizes& sizes) const {
    return parts(sizes) == 1 ? 0 : tiles(sizes) * fours_a_thread();
  }
};

// Workgroups are dealt to the XCDs in turn, and each XCD has a cache of its own: blocks that are numbered one
// after the other go to the same one. A bijection of 0 .. blocks - 1.
constexpr uint32_t block_of_xcd(uint32_t dealt, uint32_t blocks) {
  constexpr auto xcds = static_cast<uint32_t>(gpu.xcds);
  const uint32_t share = blocks / xcds;
  return dealt < share * xcds ? dealt % xcds * share + dealt / xcds : dealt;
}

template <class Input, class Weight, class Output>
struct GemmArguments {
  const Input* input;
  const Weight* weights;
  Output* output;
  ConvSizes sizes;
  GemmView input_view, output_view;
  WeightView weight_view;
  const void* zeros;  // 64 bytes of them
  float* workspace;
  GemmLaunch launch;
};

}  // namespace onnxc::kernels
