// The product of two tiles on the vector unit, for GPUs whose matrix unit kernels do not use. Operands in LDS and the
// sums of a thread are as on MFMA (gemm_tile.h), so that everything around them is the same kernel.
//
// Method: a thread has one row, or several that are 32 apart, and sixteen columns of each 32. It reads a chunk of its
// rows, then of one column after the other, which half of a quarter of the block reads at one address, and adds the
// products of their elements. 16-bit types are multiplied as float32; the sum of two bfloat16 in three products, as on
// MFMA.
//
// Bound by: LDS, with one read of 16 bytes for each four products and row in float32. Written to be right: packed
// products (v_dot2, WMMA) are not used.
#pragma once

#include "kernels/hip/gemm/gemm_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <Products products, GemmTile tile>
struct FmaTileProduct : TileSums<products, tile> {
  using Sums = TileSums<products, tile>;
  using Sums::column_tiles, Sums::first_column, Sums::first_row, Sums::lane_column, Sums::row_tiles, Sums::sums;
  using typename Sums::Shared;
  static_assert(products != Products::xf32);

  const Shared& shared;

  __device__ explicit FmaTileProduct(const Shared& shared_) : shared(shared_) {}

  static constexpr bool is_split = products == Products::bf16x3;
  static constexpr int elements = is_split || is_half(products) ? 8 : 4;  // of a chunk
  struct Values {
    float values[elements];
  };
  __device__ static Values read(const char* operand, int row, int chunk) {
    const Chunk words = *reinterpret_cast<const Chunk*>(operand + lds_place(row, chunk));
    Values result;
    if constexpr (products == Products::float32) {
      result = __builtin_bit_cast(Values, words);
    } else if constexpr (products == Products::float16) {
      const auto halves = __builtin_bit_cast(ChunkOf<_Float16>, words);
#pragma clang loop unroll(full)
      for (int e = 0; e < elements; ++e) result.values[e] = static_cast<float>(halves.elements[e]);
    } else {
#pragma clang loop unroll(full)
      for (int e = 0; e < elements; ++e) {
        const uint32_t word = words[e / 2];
        result.values[e] = __builtin_bit_cast(float, e % 2 == 0 ? word << 16 : word & 0xffff0000u);
      }
    }
    return result;
  }

  // Adds the products of a chunk of each row and one of each column.
  __device__ void add(int row_chunk, int column_chunk) {
    Values row[row_tiles];
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i) row[i] = read(shared.rows, first_row() + i * 32, row_chunk);
#pragma clang loop unroll(full)
    for (int j = 0; j < column_tiles; ++j)
#pragma clang loop unroll(full)
      for (int at = 0; at < 16; ++at) {
        const int column = first_column() + j * 32 + at / 4 * 8 + lane_column() + at % 4;
        const Values factors = read(shared.columns, column, column_chunk);
#pragma clang loop unroll(full)
        for (int e = 0; e < elements; ++e)
#pragma clang loop unroll(full)
          for (int i = 0; i < row_tiles; ++i)
            sums[i][j][at] = __builtin_fmaf(row[i].values[e], factors.values[e], sums[i][j][at]);
      }
  }

  // Padding is multiplied as well: it is zero in both operands.
  __device__ void multiply(int64_t /*rest*/ = 0) {
    // One copy of it: all four would fill a part of the instruction cache that other kernels want.
#pragma clang loop unroll(disable)
    for (int chunk = 0; chunk < (is_split ? 2 : 4); ++chunk) {
      if constexpr (is_split) {
        // High parts are chunks 0 and 1, low ones 2 and 3; the smallest first.
        add(chunk, chunk + 2);
        add(chunk + 2, chunk);
      }
      add(chunk, chunk);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
