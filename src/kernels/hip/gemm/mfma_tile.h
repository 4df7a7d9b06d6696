// The product of two tiles (gemm_tile.h) on AMD's matrix unit, MFMA.
//
// Columns are the matrix unit's first operand and rows its second. So a lane holds one row of the result and, of each
// 32 columns, four times four adjacent ones, which are stored at once. A lane reads whole chunks: half a wavefront has
// chunks 0 and 2, the other half 1 and 3. Elements may meet in any product, as long as both operands agree.
//
// Bound by: MFMA in float32 (a 64x64 wave tile takes 2,048 cycles a step and reads 8 KiB of LDS, a quarter of its
// bandwidth); in 16 bits (512 cycles) LDS comes close, hence the larger tiles.
#pragma once

#include "kernels/hip/amd/matrix_words.h"
#include "kernels/hip/gemm/gemm_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <Products products, GemmTile tile>
struct MfmaTileProduct : TileSums<products, tile> {
  using Sums = TileSums<products, tile>;
  using Sums::column_tiles, Sums::first_column, Sums::first_row, Sums::row_tiles, Sums::sums;
  using typename Sums::Shared;

  // The LDS position of this lane's first row and column: their chunks of either half of a step.
  const char *rows[2], *columns[2];

  __device__ explicit MfmaTileProduct(const Shared& shared) {
    const int lane = thread_index() % wave_lanes;
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half) {
      const int chunk = lane / 32 + 2 * half;
      rows[half] = shared.rows + lds_place(first_row(), chunk);
      columns[half] = shared.columns + lds_place(first_column() + lane % 32, chunk);
    }
  }

  // The sums of one chunk of either operand, in parts; each part for all accumulators before the next.
  static constexpr int parts = products == Products::float32 ? 4 : 2;
  static constexpr int64_t part_elements = (is_half(products) ? 32 : 16) / (2 * parts), most_rest = 32;
  __device__ static Float16 add_part(Chunk column, Chunk row, int part, Float16 sum) {
    if constexpr (products == Products::float32) {
      return add_products(__builtin_bit_cast(Float4, column)[part], __builtin_bit_cast(Float4, row)[part], sum);
    } else {
      struct Pair {
        uint64_t words[2];
      };
      const uint64_t a = __builtin_bit_cast(Pair, column).words[part], b = __builtin_bit_cast(Pair, row).words[part];
      if constexpr (products == Products::xf32)
        return add_xf32_products(a, b, sum);
      else if constexpr (products == Products::float16)
        return add_float16_products(a, b, sum);
      else
        return add_bfloat16_products(a, b, sum);
    }
  }

  // The first `count` of them.
  __device__ void add(const Chunk (&column)[column_tiles], const Chunk (&row)[row_tiles], int count = parts) {
#pragma clang loop unroll(full)
    for (int part = 0; part < parts && part < count; ++part)
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i)
#pragma clang loop unroll(full)
        for (int j = 0; j < column_tiles; ++j) sums[i][j] = add_part(column[j], row[i], part, sums[i][j]);
  }

  template <int count>
  __device__ static void read(Chunk (&chunks)[count], const char* first) {
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) chunks[i] = *reinterpret_cast<const Chunk*>(first + i * 32 * lds_row_bytes);
  }

  // Elements after the first `rest`, a constant, are padding.
  __device__ void multiply(int64_t rest = most_rest) {
    Chunk row[row_tiles], column[column_tiles];
    if constexpr (products == Products::bf16x3) {
      Chunk low_row[row_tiles], low_column[column_tiles];
      read(row, rows[0]);
      read(column, columns[0]);
      read(low_row, rows[1]);
      read(low_column, columns[1]);
      // The smallest first.
      add(low_column, row);
      add(column, low_row);
      add(column, row);
    } else {
      // One half after the other: both at once would need registers that the sums have.
#pragma clang loop unroll(full)
      for (int half = 0; half < 2; ++half) {
        read(row, rows[half]);
        read(column, columns[half]);
        add(column, row, static_cast<int>(smaller(divide_up(rest, part_elements), 2 * parts)) - half * parts);
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
