// The product of two tiles, used by every kernel that is a matrix product: operands in LDS, sums in registers; and that
// product on MFMA. fma_tile.h has it for GPUs without.
//
// A block of 256 threads has a tile of rows x columns; each quarter of them, a wavefront if there is MFMA, has a
// quarter of it, in 32x32 accumulators. One step of the reduction is 64 bytes of each row of either operand: 16
// elements of float, 32 of a 16-bit type, or 16 in two parts of bfloat16 (bf16x3). In LDS these are four chunks of 16
// bytes, in an order that avoids bank conflicts (lds_place).
//
// Columns are the matrix unit's first operand and rows its second. So a lane holds one row of the result and, of each
// 32 columns, four times four adjacent ones, which are stored at once. A lane reads whole chunks: half a wavefront has
// chunks 0 and 2, the other half 1 and 3. Elements may meet in any product, as long as both operands agree.
//
// Bound by: MFMA in float32 (a 64x64 wave tile takes 2,048 cycles a step and reads 8 KiB of LDS, a quarter of its
// bandwidth); in 16 bits (512 cycles) LDS comes close, hence the larger tiles.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "kernels/hip/wave/nest.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float2 __attribute__((ext_vector_type(2)));
typedef float Float4 __attribute__((ext_vector_type(4)));
typedef float Float16 __attribute__((ext_vector_type(16)));
typedef uint32_t Chunk __attribute__((ext_vector_type(4)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef short Short4 __attribute__((ext_vector_type(4)));

template <class T>
struct ChunkOf {
  static constexpr int count = chunk_bytes / sizeof(T);
  T elements[count];
};

typedef uint32_t UInt2 __attribute__((ext_vector_type(2)));

// The upper halves of two words, the first one's low.
__device__ inline uint32_t upper_halves(uint32_t first, uint32_t second) {
  return __builtin_amdgcn_perm(second, first, 0x07060302u);
}

// Floats as the sums of two bfloat16; the higher is truncated rather than rounded so that the largest numbers stay
// finite. The few instructions are what bounds bf16x3, so nothing is tested: what an infinity leaves is a NaN, and of a
// NaN one of the two is.
struct SplitFloats {
  UInt2 high, low;
};
__device__ inline SplitFloats split(Float4 value) {
  uint32_t whole[4], rest[4];
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    const float one = value[i];  // clang 19 takes element 0 for the bits of any element of a vector
    whole[i] = __builtin_bit_cast(uint32_t, one);
    const float low = one - __builtin_bit_cast(float, whole[i] & 0xffff0000u);
    rest[i] = __builtin_bit_cast(uint32_t, low) + 0x8000u;  // to nearest
  }
  return {{upper_halves(whole[0], whole[1]), upper_halves(whole[2], whole[3])},
          {upper_halves(rest[0], rest[1]), upper_halves(rest[2], rest[3])}};
}

// Floats rounded to the 10 bits of mantissa that xf32 has, ties away from zero: the matrix unit cuts the rest off, and
// without this every sum of one sign would come out 7e-4 too small. Half a unit is 2^-11 of a number's power of two,
// with its sign, so that an infinity stays one, and a NaN becomes quiet, which no cut makes an infinity. From
// 2^128 - 2^116 on a number becomes infinite, as in any rounding to these bits. Denormal numbers are not rounded, only
// cut.
__device__ inline Float4 rounded_to_xf32(Float4 value) {
  const Float4 power = __builtin_bit_cast(Float4, __builtin_bit_cast(Chunk, value) & 0xff800000u);
  return __builtin_elementwise_fma(power, Float4(0x1p-11f), value);
}

// The places of the operands of a tile in LDS, and a thread's sums. Loops over registers are unrolled: a register
// cannot be indexed by a variable without a detour.
template <Products products, GemmTile tile>
struct TileSums {
  static constexpr int wave_rows = tile.rows / tile.row_waves(), wave_columns = tile.columns / tile.column_waves();
  static constexpr int column_waves = tile.column_waves();
  static constexpr int row_tiles = wave_rows / 32, column_tiles = wave_columns / 32;

  struct Shared {
    alignas(16) char rows[tile.rows * lds_row_bytes];
    alignas(16) char columns[lds_columns(tile) * lds_row_bytes];
  };

  Float16 sums[row_tiles][column_tiles];

  // This lane's part of the result: its first row (the next is 32 further), and its first column as a part that is
  // uniform in the wavefront and a part of its own (the next four columns are 8 further).
  __device__ static int first_row() { return quarter_index() / column_waves * wave_rows + thread_index() % 32; }
  __device__ static int first_column() { return quarter_index() % column_waves * wave_columns; }
  __device__ static int lane_column() { return thread_index() % quarter_threads / 32 * 4; }

  // A chunk of an operand in its own type: four floats, for bf16x3 split here and for xf32 rounded.
  __device__ static void store_chunk(char* operand, int row, int chunk, Chunk value) {
    if constexpr (products == Products::bf16x3) {
      const SplitFloats parts = split(__builtin_bit_cast(Float4, value));
      const int part = chunk % 2 * 8;
      *reinterpret_cast<UInt2*>(operand + lds_place(row, chunk / 2) + part) = parts.high;
      *reinterpret_cast<UInt2*>(operand + lds_place(row, 2 + chunk / 2) + part) = parts.low;
    } else if constexpr (products == Products::xf32) {
      store_packed(operand, row, chunk, __builtin_bit_cast(Chunk, rounded_to_xf32(__builtin_bit_cast(Float4, value))));
    } else {
      store_packed(operand, row, chunk, value);
    }
  }
  // A chunk as it lies in packed weights.
  __device__ static void store_packed(char* operand, int row, int chunk, Chunk value) {
    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;
  }

  __device__ void clear() {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < column_tiles; ++j) sums[i][j] = Float16(0.0f);
  }
};

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
      return __builtin_amdgcn_mfma_f32_32x32x2f32(__builtin_bit_cast(Float4, column)[part],
                                                  __builtin_bit_cast(Float4, row)[part], sum, 0, 0, 0);
    } else {
      struct Pair {
        uint64_t words[2];
      };
      const uint64_t a = __builtin_bit_cast(Pair, column).words[part], b = __builtin_bit_cast(Pair, row).words[part];
      if constexpr (products == Products::xf32)
        return __builtin_amdgcn_mfma_f32_32x32x4_xf32(__builtin_bit_cast(Float2, a), __builtin_bit_cast(Float2, b), sum,
                                                      0, 0, 0);
      else if constexpr (products == Products::float16)
        return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(Half4, a), __builtin_bit_cast(Half4, b), sum, 0,
                                                    0, 0);
      else
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Short4, a), __builtin_bit_cast(Short4, b),
                                                        sum, 0, 0, 0);
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
