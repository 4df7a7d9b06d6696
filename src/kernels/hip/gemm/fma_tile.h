// The product of two tiles of float32 on the vector unit, for AMD's RDNA. Operands in LDS and the sums of a thread are
// as on MFMA (gemm_tile.h), so that everything around them is the same kernel.
//
// Method: a thread has one row, or several that are 32 apart, and sixteen columns of each 32. It reads a chunk of its
// rows, then of one column after the other, which half of a quarter of the block reads at one address, and adds the
// products of their elements.
//
// Bound by: LDS, with one read of 16 bytes for each four products and row.
#pragma once

#include "kernels/hip/gemm/gemm_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <Products products, GemmTile tile>
struct FmaTileProduct : TileSums<products, tile, Accumulator<32, quarter_threads>> {
  using Tile = TileSums<products, tile, Accumulator<32, quarter_threads>>;
  using Tile::column_tiles, Tile::first_column, Tile::first_row, Tile::lane_column, Tile::row_tiles, Tile::sums;
  using typename Tile::Shared;
  static_assert(products == Products::float32);

  const Shared& shared;

  __device__ explicit FmaTileProduct(const Shared& shared_) : shared(shared_) {}

  static constexpr int elements = chunk_bytes / sizeof(float);
  __device__ static Float4 read(const char* operand, int row, int chunk) {
    return *reinterpret_cast<const Float4*>(operand + lds_place(row, chunk));
  }

  // Padding is multiplied as well: it is zero in both operands.
  __device__ void multiply(int64_t /*rest*/ = 0) {
    // One copy of it: all four would fill a part of the instruction cache that other kernels want.
#pragma clang loop unroll(disable)
    for (int chunk = 0; chunk < 4; ++chunk) {
      Float4 row[row_tiles];
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i) row[i] = read(shared.rows, first_row() + i * 32, chunk);
#pragma clang loop unroll(full)
      for (int j = 0; j < column_tiles; ++j)
#pragma clang loop unroll(full)
        for (int at = 0; at < 16; ++at) {
          const int column = first_column() + j * 32 + at / 4 * 8 + lane_column() + at % 4;
          const Float4 factors = read(shared.columns, column, chunk);
#pragma clang loop unroll(full)
          for (int e = 0; e < elements; ++e)
#pragma clang loop unroll(full)
            for (int i = 0; i < row_tiles; ++i) sums[i][j][at] = __builtin_fmaf(row[i][e], factors[e], sums[i][j][at]);
        }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
