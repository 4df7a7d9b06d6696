// The product of two tiles (gemm_tile.h) on the matrix unit of NVIDIA's Hopper, by instructions of four warps that read
// operands from LDS themselves (wgmma).
//
// Half of the block has half of the tile's rows and all its columns, or half of the columns if there are only 64 rows.
// Its warps have 16 rows each of 64. Rows of LDS are 64 bytes, and an instruction takes 32 of each. Chunks lie in the
// order that its descriptors call a swizzle of 64 bytes. Rows of xf32 pass through registers and are rounded there.
//
// A step starts while the one before goes on: operands are copied to LDS in as many stages as a block may ask for.
//
// Limits: only what is copied to LDS as it lies in memory (GemmPlan::uses_wgmma).
//
// Bound by: LDS; half of a block reads its columns once for 64 rows.
#pragma once

#include "kernels/hip/gemm/warp_sums.h"
#include "kernels/hip/nvidia/wgmma_words.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <Products products, GemmTile tile>
struct WgmmaTileProduct : WarpSums<tile.warpgroup_rows() / 64, tile.warpgroup_columns() / 16> {
  static constexpr int group_rows = tile.warpgroup_rows(), group_columns = tile.warpgroup_columns();
  static constexpr int row_tiles = group_rows / 64, row_bytes = lds_row_bytes;
  using Sums = WarpSums<row_tiles, group_columns / 16>;
  using Sums::lane, Sums::sums;

  // Descriptors count eight rows after eight rows from a multiple of what these take.
  struct Shared {
    alignas(8 * row_bytes) char rows[tile.rows * row_bytes];
    alignas(8 * row_bytes) char columns[lds_columns(tile) * row_bytes];
  };

  // ---- the layout of the sums, as TileSums has it

  static constexpr bool shares_rows = group_rows == tile.rows;
  __device__ static int group() { return uniform(thread_index() / 128); }
  __device__ static int warp() { return thread_index() / 32 % 4; }
  __device__ static int first_row() { return shares_rows ? 0 : group() * group_rows; }
  __device__ static int first_column() { return shares_rows ? group() * group_columns : 0; }
  __device__ static int row_at(int r) { return first_row() + r / 2 * 64 + warp() * 16 + r % 2 * 8 + lane() / 4; }
  __device__ static int column_at(int c) { return first_column() + c * 16; }
  static constexpr int partial_sums = shares_rows ? 4 : 8;
  __device__ static int partial_sum() { return thread_index() / 32 % partial_sums; }

  // ---- operands

  __device__ static char* launch_lds() { return kernels::launch_lds(); }
  static constexpr int place(int row, int chunk) {
    return row * row_bytes + (chunk ^ (row >> 1 & 3)) * static_cast<int>(chunk_bytes);
  }
  template <bool are_rows>
  __device__ static void copy_chunk(const char* operand, int row, int chunk, const void* from, bool is_real) {
    copy_to_lds<are_rows>(lds_address(operand + place(row, chunk)), from, is_real);
  }
  __device__ static void end_copies() { kernels::end_copies(); }
  template <int left>
  __device__ static void wait_for_copies() {
    kernels::wait_for_copies<left>();
  }
  // After a barrier the products see them too.
  __device__ static void show_copies() { show_to_products(); }

  // ---- products

  LdsAddress rows, columns;

  __device__ explicit WgmmaTileProduct(const Shared& shared)
      : rows(lds_address(shared.rows) + first_row() * row_bytes),
        columns(lds_address(shared.columns) + first_column() * row_bytes) {}

  __device__ WgmmaTileProduct(LdsAddress rows_, LdsAddress columns_)
      : rows(rows_), columns(columns_ + first_column() * row_bytes) {}

  // The first half of rows from `first` on; the second is 2 units of 16 bytes further.
  __device__ static uint64_t descriptor(LdsAddress first) {
    constexpr uint64_t swizzle_of_64_bytes = 2, eight_rows = 8 * row_bytes / 16, unused = 1;
    return swizzle_of_64_bytes << 62 | eight_rows << 32 | unused << 16 | (first & 0x3ffff) >> 4;
  }

  // The products of a step begin: `stage` is the number of its operands in LDS.
  __device__ void start(int stage) {
    const LdsAddress further = stage * static_cast<int>(sizeof(Shared));
    const uint64_t factors = descriptor(columns + further);
    if constexpr (products == Products::xf32)
      start_rounded(rows + further, factors);
    else
      start_halves(rows + further, factors);
  }
  // All but the last `left` groups are made; a step ends with one.
  template <int left>
  __device__ void finish() {
    wait_for_products<left>();
    if constexpr (left == 0)
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i) settle(sums[i]);
  }

  __device__ void start_halves(LdsAddress first, uint64_t factors) {
    static_assert(is_half(products));
    begin_products();
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i)
#pragma clang loop unroll(full)
      for (int half = 0; half < 2; ++half) {
        const uint64_t row = descriptor(first + i * 64 * row_bytes) + 2 * half;
        if constexpr (products == Products::float16)
          start_float16_products(sums[i], row, factors + 2 * half);
        else
          start_bfloat16_products(sums[i], row, factors + 2 * half);
      }
    end_products();
  }
  // Registers stay as they are while products read them. So either half of a step has its own, and is a group.
  __device__ void start_rounded(LdsAddress first, uint64_t factors) {
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half) {
      Chunk row[row_tiles];
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i) {
        row[i] = load_matrices(first + place(i * 64 + warp() * 16 + lane() % 16, 2 * half + lane() / 16));
#pragma clang loop unroll(full)
        for (int word = 0; word < 4; ++word) row[i][word] = rounded_to_tf32(row[i][word]);
      }
      begin_products();
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i) start_tf32_products(sums[i], row[i], factors + 2 * half);
      end_products();
      if (half == 0) finish<1>();
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
