// The contract of the compiler, the host and the implicit-GEMM kernel: how products are made, tiles, the order of the
// reduction, how weights are packed, how many blocks are launched. Pure functions.
//
// Convolution activations are nCdhw16c: blocks of 16 channels, 64 bytes of float a voxel and block, aligned and padded
// with zeros whatever the number of channels, with the voxels of a row contiguous. A row-major matrix whose columns are
// whole blocks is such a tensor too: only its strides differ.
#pragma once

#include "kernels/hip/gemm/halo_geometry.h"
#include "kernels/hip/wave/divisor.h"
#include "kernels/hip/wave/launch.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// How the matrix unit multiplies, by CDNA's instructions or NVIDIA's; RDNA's are v_wmma_f32_16x16x16. Sums are float32;
// those of bytes are int32, which wraps around.
enum class Products {
  float32,   // v_mfma_f32_32x32x2_f32: exact to float32
  xf32,      // v_mfma_f32_32x32x4_xf32: operands rounded to 10 bits of mantissa
  bf16x3,    // operands as the sum of two bfloat16: 16 bits of mantissa, three products; an infinity becomes a NaN
  float16,   // v_mfma_f32_32x32x8_f16, for operands stored as float16: exact
  bfloat16,  // v_mfma_f32_32x32x8_bf16_1k, for operands stored as bfloat16: exact
  int8,      // mma.sync m16n8k32 or v_wmma_i32_16x16x16_iu8 of signed bytes: exact
  uint8,     // the same of unsigned bytes with weights that are signed
};

constexpr bool is_half(Products products) { return products == Products::float16 || products == Products::bfloat16; }

constexpr bool is_bytes(Products products) { return products == Products::int8 || products == Products::uint8; }

// The bytes of an operand's element in LDS.
constexpr int64_t operand_bytes(Products products) {
  return is_bytes(products) ? 1 : is_half(products) || products == Products::bf16x3 ? 2 : 4;
}

// Whether the vector unit makes them.
constexpr bool on_vector_unit(Products products, const GpuMachine& gpu) {
  return products == Products::float32 && gpu.matrix_unit != machine::MatrixUnit::mfma;
}

// The cycles of a SIMD unit for the products of a 32x32 tile over 16 elements of the reduction. The matrix units take
// for xf32 twice the cycles of 16-bit types; MFMA has one rate of float32 in all generations.
constexpr int64_t product_cycles(Products products, const GpuMachine& gpu, int64_t half_products_a_cycle) {
  constexpr int64_t count = 32 * 32 * 16, float_products_a_cycle = 32;
  const int64_t of_one = products == Products::bf16x3 ? 3 : 1;
  if (on_vector_unit(products, gpu)) return of_one * count / gpu.vector_products_a_cycle;
  if (is_bytes(products)) return count / (gpu.byte_products_a_half * half_products_a_cycle);
  if (products == Products::float32) return count / float_products_a_cycle;
  return of_one * count / half_products_a_cycle * (products == Products::xf32 ? 2 : 1);
}
constexpr int64_t product_cycles(Products products, const GpuMachine& gpu) {
  return product_cycles(products, gpu, gpu.half_products_a_cycle);
}

// The tile of a block of 256 threads: rows (voxels of a convolution) x columns (output channels). Each quarter
// of its threads, a wavefront of 64 lanes, has a quarter, in 32x32 accumulators.
struct GemmTile {
  int64_t rows, columns;
  constexpr bool operator==(const GemmTile&) const = default;
  constexpr int64_t column_waves() const { return columns >= 64 ? 2 : 1; }
  constexpr int64_t row_waves() const { return 4 / column_waves(); }
  // The part of half of the block if four warps multiply at once: 64 rows or a multiple.
  constexpr int64_t warpgroup_rows() const { return larger(rows / 2, 64); }
  constexpr int64_t warpgroup_columns() const { return rows * columns / 2 / warpgroup_rows(); }
  constexpr int64_t sums() const { return rows * columns / nest_threads; }  // of a thread
  // Wavefronts that fit a SIMD unit with its registers: a lane needs its sums and some others.
  constexpr int64_t waves(const GpuMachine& gpu, int64_t others = 64) const {
    return smaller(gpu.registers / larger(sums() + others, gpu.taken_registers), gpu.waves_per_simd);
  }
};
inline constexpr GemmTile gemm_tiles[] = {{256, 128}, {128, 128}, {64, 256}, {256, 64},
                                          {128, 64},  {64, 64},   {256, 32}, {128, 32}};
// Those of bricks of voxels.
inline constexpr GemmTile halo_tiles[] = {{512, 32}, {256, 64}, {256, 48}, {256, 32}, {128, 128}, {128, 64}, {128, 32}};

// In LDS an operand's row is 64 bytes of one step of the reduction: four chunks of 16 bytes, in an order that changes
// from row to row so that the lanes of each phase of an access hit different banks. A read phase has one chunk of four
// adjacent rows and of four rows that are 20 or 12 further. A write phase has all chunks of two rows, one of eight
// rows, or (8 bytes of each, in bf16x3) two of four rows.
inline constexpr int64_t chunk_bytes = 16, lds_row_bytes = 64;
constexpr int lds_place(int row, int chunk) {
  const int order = (row & 2) | (row >> 2 & 1);
  return row * static_cast<int>(lds_row_bytes) + (chunk ^ order) * static_cast<int>(chunk_bytes);
}
// All threads store the same number of chunks: a narrow tile's columns are stored twice, and one copy is read.
constexpr int64_t lds_columns(const GemmTile& tile) { return larger(tile.columns, 64); }
constexpr int64_t gemm_lds_bytes(const GemmTile& tile) { return (tile.rows + lds_columns(tile)) * lds_row_bytes; }
// With few tiles the reduction of each is split into parts, one a block (split-K), until the GPU has two blocks for
// each compute unit. A part should be long enough to be worth its prologue and its end.
inline constexpr int64_t least_part_steps = 8;
constexpr int64_t blocks_of_parts(const GpuMachine& gpu) { return 2 * int64_t{gpu.compute_units}; }

// Strides in elements: of images, groups, channel blocks and the three axes; the axes' fit 31 bits.
struct GemmView {
  int64_t batch, group, block, d, h, w;
  constexpr bool fits() const {
    constexpr int64_t most = int64_t{1} << 31;
    return d < most && h < most && w < most;
  }
};
// Strides of a strided second operand, in elements.
struct WeightView {
  int64_t batch, group, k, column;
};

// The numbers by which a block finds its tile. They are the number of tiles, the number of parts that each tile's
// reduction is split into, the rows and row tiles of an image, and the extents of the grid over which rows are counted,
// or bricks.
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
  packed,    // constant, in the order of GemmPlan::weight_offset and as the matrix unit wants them
  computed,  // made at run time in that order, in their own type
  strided,   // a matrix made at run time
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
  // For a matrix product whose operands are read element by element: only a run knows how long the reduction is. The
  // shape's input channels are a guess then, by which tiles and parts are chosen.
  bool has_run_time_depth = false;
  // The rows of a tile are the voxels of a brick of these extents, along w fastest; none: successive voxels.
  Axes brick = {0, 0, 0};

  constexpr bool operator==(const GemmPlan&) const = default;

  constexpr int64_t taps() const { return shape.kernel.product(); }
  constexpr int64_t input_blocks() const { return divide_up(shape.group_input_channels(), block_channels); }
  constexpr bool has_halo() const { return brick.w > 0; }
  constexpr Halo halo() const { return {brick, shape.kernel, shape.dilation, segments(), !is_half(products)}; }
  // Blocks of channels that a step takes at once, and the halos that LDS has room for: the next one is copied
  // meanwhile.
  constexpr int64_t pairs() const { return divide_up(input_blocks(), segments()); }
  constexpr int64_t halos() const { return smaller(pairs(), 2); }
  // Wavefronts that a SIMD unit holds at once. Halves that are loaded one by one take a register each.
  constexpr int64_t waves(const GpuMachine& gpu) const {
    const bool loads_halves = is_half(products) && input_order == InputOrder::elements;
    return smaller(loads_halves ? tile.waves(gpu, 80) : tile.waves(gpu), blocks_by_lds(gpu) * block_waves(gpu));
  }
  // A tall tile reads less LDS for each product, which bounds NVIDIA's matrix unit. There a thread of two blocks has
  // 128 registers, and the sums of a large tile leave too few for operands on their way to LDS, but for the packed
  // weights of a tall one. Without the matrix unit each thread reads all columns of a wide one. On RDNA, whose lanes
  // have 192 registers, the sums of the largest tile spill. A narrow one begins and ends less often than one of half
  // its rows.
  constexpr bool has_suitable_tile(const GpuMachine& gpu) const {
    constexpr GemmTile tall{256, 64}, wide{64, 256}, narrow{256, 32};
    if (has_halo()) return has_suitable_brick(gpu);
    if (machine::multiplies_by_wmma(gpu)) return tile.sums() <= 64 && tile != narrow;
    if (!machine::multiplies_by_mma(gpu)) return tile != tall && tile != narrow;
    if (tile.sums() < 64) return true;
    if (copies(gpu)) return masks_taps() && (tile != wide || !on_vector_unit(products, gpu));
    return products == Products::bf16x3 && tile == tall && input_order == InputOrder::blocks &&
           weight_order == WeightOrder::packed && masks_taps();
  }
  // Voxels that follow one another are read by taps that do: rows of a matrix, if the stride is 1.
  constexpr bool has_suitable_brick(const GpuMachine& gpu) const {
    return gpu.matrix_unit == machine::MatrixUnit::wgmma && !is_bytes(products) && products != Products::float32 &&
           input_order == InputOrder::blocks && weight_order == WeightOrder::packed && !transposed && !matrix_product &&
           shape.stride.product() == 1 && brick.product() == tile.rows && halo().copy_steps() > 0;
  }
  // Whether the taps at which a row reads an element of the input, one a bit along each axis, fit a register.
  constexpr bool masks_taps() const { return shape.kernel.d + shape.kernel.h + shape.kernel.w < 32; }
  // The blocks that a compute unit holds at once.
  constexpr int64_t blocks_a_unit(const GpuMachine& gpu) const {
    return smaller(tile.waves(gpu) / block_waves(gpu), blocks_by_lds(gpu));
  }
  // Whether the operands of a step are copied to LDS without registers: nothing is to be made of them on the way.
  constexpr bool copies(const GpuMachine& gpu) const {
    if (has_halo()) return true;
    return machine::multiplies_by_mma(gpu) && products != Products::bf16x3 && input_order == InputOrder::blocks &&
           weight_order == WeightOrder::packed && !has_few_steps();
  }
  // Whether the products of a step go on, out of LDS, while copies for the next ones arrive.
  constexpr bool uses_wgmma(const GpuMachine& gpu) const {
    if (has_halo()) return true;
    return gpu.matrix_unit == machine::MatrixUnit::wgmma && copies(gpu) &&
           (is_half(products) || products == Products::xf32);
  }
  // The most that a block has; with wgmma its launch asks for it.
  constexpr int64_t most_lds_bytes(const GpuMachine& gpu) const {
    return uses_wgmma(gpu) ? gpu.launch_lds_bytes : gpu.block_lds_bytes;
  }
  // Steps whose operands LDS holds at once.
  constexpr int64_t stages(const GpuMachine& gpu) const {
    constexpr int64_t most = 4;
    if (has_halo()) return halo().stages();
    return copies(gpu) ? smaller(most_lds_bytes(gpu) / gemm_lds_bytes(tile), most) : 1;
  }
  constexpr int64_t lds_bytes(const GpuMachine& gpu) const {
    if (has_halo())
      return round_up(halos() * halo().bytes() + stages(gpu) * halo().taps_a_step() * tile.columns * lds_row_bytes,
                      8 * lds_row_bytes);
    return stages(gpu) * gemm_lds_bytes(tile);
  }
  // The launch asks for these, and the kernel declares none beside them.
  constexpr int64_t launch_lds_bytes(const GpuMachine& gpu) const { return uses_wgmma(gpu) ? lds_bytes(gpu) : 0; }
  constexpr int64_t blocks_by_lds(const GpuMachine& gpu) const {
    return machine::blocks_by_lds(gpu, lds_bytes(gpu), most_lds_bytes(gpu));
  }
  // The cycles of a SIMD unit for the products of a 32x32 tile in a segment of a step.
  constexpr int64_t product_cycles(const GpuMachine& gpu) const {
    return kernels::product_cycles(products, gpu,
                                   uses_wgmma(gpu) ? gpu.wgmma_products_a_cycle : gpu.half_products_a_cycle);
  }
  // The bytes of LDS that the threads of a block read in a step. With MFMA two quarters read each row and column. Each
  // of eight wavefronts of 32 lanes reads its own, with the WMMA of RDNA3 twice, and on the vector unit each thread,
  // wherever others read the same. With wgmma half of the block reads its columns once for each 64 rows.
  constexpr int64_t lds_read_bytes(const GpuMachine& gpu) const {
    const int64_t rows = tile.rows / tile.row_waves() / 2, columns = tile.columns / tile.column_waves();
    if (on_vector_unit(products, gpu))
      return nest_threads * lds_row_bytes *
             (machine::multiplies_by_mma(gpu) ? rows / 8 + columns / 4 : rows / 16 + columns / 2);
    if (gpu.matrix_unit == machine::MatrixUnit::mfma) return 2 * (tile.rows + tile.columns) * lds_row_bytes;
    if (uses_wgmma(gpu)) {
      const int64_t read = 2 * (tile.warpgroup_rows() / 64) * (64 + tile.warpgroup_columns()) * lds_row_bytes;
      return products == Products::bf16x3 ? read * 3 / 2 : read;
    }
    const int64_t copies_of_operands = gpu.matrix_unit == machine::MatrixUnit::wmma ? 2 : 1;
    return 8 * copies_of_operands * (rows + columns) * lds_row_bytes;
  }
  // The elements of the reduction in one step, and the segments (16 channels at one tap) that they form.
  constexpr int64_t depth() const { return is_bytes(products) ? 64 : is_half(products) ? 32 : 16; }
  constexpr int64_t segments() const { return depth() / block_channels; }

  // Whether a step's segments, two or four, are channel blocks at one tap; else they are successive taps, which costs
  // the kernel more index arithmetic but wastes nothing on blocks that are not a multiple.
  constexpr bool pairs_blocks() const {
    return has_halo() || transposed || segments() == 1 || input_blocks() % segments() == 0 ||
           input_blocks() > 3 * segments();
  }
  // All threads are at one tap of a step, and go from tap to tap.
  constexpr bool has_cursor() const { return input_order == InputOrder::blocks && pairs_blocks(); }
  // A reduction that takes no loop.
  constexpr bool has_few_steps() const { return !has_cursor() && !is_split && !has_run_time_depth && steps() <= 3; }
  constexpr int64_t steps() const {
    if (input_order != InputOrder::blocks) return divide_up(taps() * shape.group_input_channels(), depth());
    if (pairs_blocks()) return divide_up(input_blocks(), segments()) * taps();
    return divide_up(input_blocks() * taps(), segments());
  }

  // Element `k` of a step: a tap and an input channel of the group; beyond the last tap or channel it is padding. Taps
  // run faster than channel blocks, so that an input tile is read from cache after its first tap.
  struct Place {
    int32_t tap, channel;
  };
  // The matrix unit takes the same elements of two chunks at once. These are adjacent in the reduction, so that its
  // padding fills whole products.
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
  // Elements of a step and those after it that are not padding.
  constexpr int64_t rest(int64_t step) const {
    if (input_order == InputOrder::blocks) return (steps() - step) * depth();
    return taps() * shape.group_input_channels() - step * depth();
  }
  constexpr bool is_inside(const Place& at) const {
    return at.tap < taps() && at.channel < shape.group_input_channels();
  }

  // Whether four adjacent columns are always stored or skipped together.
  constexpr bool stores_fours() const {
    if (output_lanes == 1) return false;
    if (matrix_product) return shape.group_output_channels() % 4 == 0;
    return shape.groups == 1 || shape.group_output_channels() % block_channels == 0;
  }
  // The columns of a group, including the padding of the output's last channel block.
  constexpr int64_t group_columns() const {
    if (matrix_product) return shape.group_output_channels();
    return shape.group_output_channels() + round_up(shape.output_channels, block_channels) - shape.output_channels;
  }
  constexpr int64_t column_tiles() const { return divide_up(group_columns(), tile.columns); }

  // Packed weights: [group][step][column, padded to whole tiles][64 bytes of a step]; padding is zero. Elements are in
  // the order of `place`; for bf16x3 all high parts precede all low parts.
  constexpr int64_t row_elements() const { return lds_row_bytes / operand_bytes(products); }
  constexpr int64_t weight_offset(int64_t group, int64_t step, int64_t column) const {
    return ((group * steps() + step) * column_tiles() * tile.columns + column) * row_elements();
  }
  constexpr int64_t weight_count() const { return weight_offset(shape.groups, 0, 0); }
  // A row of zeros follows, of bytes one of zero points: what lies outside the input is read from there.
  constexpr int64_t packed_count() const { return weight_count() + row_elements(); }

  // The positions over which rows are counted. A strided transposed convolution is one convolution for each residue of
  // the output position modulo the stride; each residue reads a part of the taps.
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
  // Tiles along each axis; if rows are successive voxels all are along w.
  constexpr Axes row_tiles(const Axes& output) const {
    const Axes counted = grid(output);
    if (!has_halo()) return {1, 1, divide_up(counted.product(), tile.rows)};
    return {divide_up(counted.d, brick.d), divide_up(counted.h, brick.h), divide_up(counted.w, brick.w)};
  }
  // The tiles of the output; none if the sizes do not fit. Column tiles run fastest, so that blocks that run together
  // share their input; then row tiles, residues, groups, images.
  constexpr int64_t tiles(const ConvSizes& sizes) const {
    if (!fits(sizes.input) || !fits(sizes.output)) return INT64_MAX;
    return sizes.batch * shape.groups * residues() * row_tiles(sizes.output).product() * column_tiles();
  }
  // The number of parts into which each tile's reduction is split, given the number of tiles.
  constexpr int64_t parts(int64_t tile_count, const GpuMachine& gpu) const {
    if (!is_split || tile_count == 0) return 1;
    const int64_t most = has_halo() ? pairs() : steps();
    return larger(smaller(most, smaller(blocks_of_parts(gpu) / tile_count, steps() / residues() / least_part_steps)),
                  1);
  }
  constexpr int64_t parts(const ConvSizes& sizes, const GpuMachine& gpu) const { return parts(tiles(sizes), gpu); }
  // Blocks of a launch: all tiles of one part after the other.
  constexpr int64_t blocks(const ConvSizes& sizes, const GpuMachine& gpu) const {
    const int64_t count = tiles(sizes);
    return count == INT64_MAX ? count : count * parts(count, gpu);
  }

  // No launch is possible if strides do not fit either.
  template <class Arguments>
  constexpr int64_t blocks_of(const Arguments& arguments, const GpuMachine& gpu) const {
    return arguments.input_view.fits() && arguments.output_view.fits() ? blocks(arguments.sizes, gpu) : INT64_MAX;
  }
  constexpr GemmLaunch launch(const ConvSizes& sizes, const GpuMachine& gpu) const {
    const Axes counted = grid(sizes.output), in_tiles = row_tiles(sizes.output),
               &units = has_halo() ? in_tiles : counted;
    return {static_cast<uint32_t>(tiles(sizes)),
            static_cast<uint32_t>(parts(sizes, gpu)),
            static_cast<uint32_t>(counted.product()),
            Divisor::of(in_tiles.product()),
            Divisor::of(units.w),
            Divisor::of(units.h),
            Divisor::of(sizes.batch)};
  }

  // In a split reduction each block writes its sums to the workspace [part][tile][fours of a thread][thread][4]; a
  // "four" is four sums of a thread that are adjacent in the output. A second launch, with a block for each `fours of a
  // thread`, adds the parts in order, so that the result does not depend on which block was first.
  constexpr int64_t fours_a_thread() const { return tile.rows * tile.columns / (4 * nest_threads); }
  constexpr int64_t workspace_count(int64_t tile_count, const GpuMachine& gpu) const {
    const int64_t count = parts(tile_count, gpu);
    return count == 1 ? 0 : count * tile_count * tile.rows * tile.columns;
  }
  // For any sizes.
  constexpr int64_t most_workspace_count(const GpuMachine& gpu) const {
    return is_split ? blocks_of_parts(gpu) * tile.rows * tile.columns : 0;
  }
  constexpr int64_t combining_blocks(const ConvSizes& sizes, const GpuMachine& gpu) const {
    return parts(sizes, gpu) == 1 ? 0 : tiles(sizes) * fours_a_thread();
  }
};

// Workgroups go to the XCDs in turn, and each XCD has its own cache: this renumbering, a bijection of 0 .. blocks - 1,
// gives blocks with successive numbers to the same XCD.
constexpr uint32_t block_of_xcd(uint32_t dealt, uint32_t blocks, int xcd_count) {
  const auto xcds = static_cast<uint32_t>(xcd_count);
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
  const void* zeros;  // 64 bytes of them, or of bytes' zero point
  float* workspace;
  GemmLaunch launch;
  int32_t depth;  // of a reduction whose length only a run knows
};

}  // namespace onnxc::kernels
