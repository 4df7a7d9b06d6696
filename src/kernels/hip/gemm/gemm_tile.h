// The product of two tiles, used by every kernel that is a matrix product: operands in LDS, sums in registers.
// tile_product.h picks it: on the vendor's matrix unit, or of RDNA's float32 on the vector unit (fma_tile.h).
//
// A block of 256 threads has a tile of rows x columns; each quarter of them has a quarter of it, in 32x32 accumulators
// of 64 threads, or in 16x16 ones of 32. One step of the reduction is 64 bytes of each row of either operand: 16
// elements of float, 32 of a 16-bit type, or 16 in two parts of bfloat16 (bf16x3). In LDS these are four chunks of 16
// bytes, in an order that avoids bank conflicts (lds_place).
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "kernels/hip/wave/nest.h"
#include "kernels/hip/wave/wave.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef int32_t Int4 __attribute__((ext_vector_type(4)));
typedef uint32_t Chunk __attribute__((ext_vector_type(4)));

// Four sums of products.
template <bool are_of_bytes>
struct FourSums {
  using Type = Float4;
  using Sum = float;
};
template <>
struct FourSums<true> {
  using Type = Int4;
  using Sum = int32_t;
};

template <class T>
struct ChunkOf {
  static constexpr int count = chunk_bytes / sizeof(T);
  T elements[count];
};

typedef uint32_t UInt2 __attribute__((ext_vector_type(2)));

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

// A chunk of four floats as eight bytes of either part: all high parts are before all low ones.
__device__ inline void store_split(char* operand, int row, int chunk, Chunk value) {
  const SplitFloats parts = split(__builtin_bit_cast(Float4, value));
  const int part = chunk % 2 * 8;
  *reinterpret_cast<UInt2*>(operand + lds_place(row, chunk / 2) + part) = parts.high;
  *reinterpret_cast<UInt2*>(operand + lds_place(row, 2 + chunk / 2) + part) = parts.low;
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

// An accumulator of side x side sums, of so many lanes: the rows are those of the first lanes, and a lane has half of
// the columns of its row.
template <int side_, int lanes_, bool are_of_bytes = false>
struct Accumulator {
  static constexpr int side = side_, lanes = lanes_, sums = side * side / lanes;
  static_assert(lanes == 2 * side);
  typedef typename FourSums<are_of_bytes>::Sum Sums __attribute__((ext_vector_type(sums)));
};

// The places of the operands of a tile in LDS, and a thread's sums. Loops over registers are unrolled: a register
// cannot be indexed by a variable without a detour.
template <Products products, GemmTile tile, class Accumulator>
struct TileSums {
  using Sums = typename Accumulator::Sums;
  using Four = typename FourSums<is_bytes(products)>::Type;
  static constexpr int side = Accumulator::side, lanes = Accumulator::lanes;
  // A wave has accumulators: a quarter of the block, or of its rows a half.
  static constexpr int column_waves = tile.column_waves(), waves_a_quarter = quarter_threads / lanes;
  static constexpr int wave_rows = tile.rows / tile.row_waves() / waves_a_quarter,
                       wave_columns = tile.columns / column_waves;
  static constexpr int row_tiles = wave_rows / side, column_tiles = wave_columns / side;

  struct Shared {
    alignas(16) char rows[tile.rows * lds_row_bytes];
    alignas(16) char columns[lds_columns(tile) * lds_row_bytes];
  };

  Sums sums[row_tiles][column_tiles];

  // A thread has some fours: four adjacent columns of one of its rows, from column_at + lane_column on. column_at is
  // uniform in the wavefront.
  static constexpr int rows_a_thread = row_tiles, fours_a_row = wave_columns / 8, fours = side / 8;
  __device__ static int row_at(int r) { return first_row() + r * side; }
  __device__ static int column_at(int c) { return first_column() + c * 8; }
  __device__ Four four(int r, int c) const {
    const Sums all = sums[r][c / fours];
    const int at = c % fours * 4;
    return {all[at], all[at + 1], all[at + 2], all[at + 3]};
  }
  __device__ void set(int r, int c, int e, float value) { sums[r][c / fours][c % fours * 4 + e] = value; }
  // The wave's number in its quarter.
  __device__ static int wave() { return thread_index() % quarter_threads / lanes; }
  __device__ static int first_row() {
    return (quarter_index() / column_waves * waves_a_quarter + wave()) * wave_rows + thread_index() % side;
  }
  __device__ static int first_column() { return quarter_index() % column_waves * wave_columns; }
  __device__ static int lane_column() { return thread_index() % lanes / side * 4; }
  // The offset of lane_column() if columns are `stride` apart.
  __device__ static int64_t lane_columns(int64_t stride) { return lane_column() == 0 ? 0 : 4 * stride; }

  // The sums of a thread's columns over the rows of 16 lanes, each in one of them: store(which column, sum). The lanes
  // of a column's rows are one or two rows of 16, which the vector unit folds by itself.
  static constexpr int partial_sums = tile.row_waves() * 2;
  __device__ static int partial_sum() {
    return quarter_index() / column_waves * 2 + wave() + thread_index() % side / 16;
  }
  template <class Store>
  __device__ static void sum_rows(float (&own)[4 * fours_a_row], const Store& store) {
#pragma clang loop unroll(full)
    for (int j = 0; j < fours_a_row / 4; ++j) {
      float values[16];
#pragma clang loop unroll(full)
      for (int k = 0; k < 16; ++k) values[k] = own[16 * j + k];
      store(16 * j + value_of_lane(), scatter_sums(values));
    }
  }

  // The row of LDS that a column lies in.
  __device__ static int lds_column(int column) { return column; }

  // A chunk of an operand in its own type: four floats, for bf16x3 split here and for xf32 rounded.
  __device__ static void store_chunk(char* operand, int row, int chunk, Chunk value) {
    if constexpr (products == Products::bf16x3) {
      store_split(operand, row, chunk, value);
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
      for (int j = 0; j < column_tiles; ++j) sums[i][j] = Sums{};
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
