// The product of two tiles (gemm_tile.h) on AMD's matrix unit: MFMA of CDNA, or WMMA of RDNA.
//
// Columns are the matrix unit's first operand and rows its second. So a lane holds one row of the result and, of each
// eight columns, four adjacent ones, which are stored at once. A lane reads whole chunks: one half of a wavefront has
// chunks 0 and 2, the other 1 and 3; on RDNA3 both have all. Elements may meet in any product, as long as both operands
// agree.
//
// Bound by: MFMA in float32 (a 64x64 wave tile takes 2,048 cycles a step and reads 8 KiB of LDS, a quarter of its
// bandwidth); in 16 bits (512 cycles) LDS comes close, hence the larger tiles. WMMA reads half of what LDS gives.
#pragma once

#include "kernels/hip/amd/matrix_words.h"
#include "kernels/hip/amd/wmma_words.h"
#include "kernels/hip/gemm/gemm_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// A lane's share of the chunks of a row in half of a step, as the words of each product.
template <class Words, int parts>
struct OperandParts {
  Words words[parts];
};

// A lane's share of a product of 16-bit types or xf32: a chunk, or half of one.
template <bool is_whole>
struct MfmaWords {
  using Type = uint64_t;
};
template <>
struct MfmaWords<true> {
  using Type = Chunk;
};

template <Products products>
struct MfmaUnit {
  using Accumulator = kernels::Accumulator<32, 64>;
  using Sums = typename Accumulator::Sums;
  using Operand = Chunk;
  // Whether a product takes all that a lane has of half of a step.
  static constexpr bool is_whole = own_gpu.has_wide_mfma && operand_bytes(products) == 2;
  // Products in half of a step.
  static constexpr int parts = products == Products::float32 ? 4 : is_whole ? 1 : 2;
  static constexpr bool holds_columns = true;

  __device__ static int lds_column(int column) { return column; }
  __device__ static Sums add_part(Operand column, Operand row, int part, Sums sums) {
    if constexpr (products == Products::float32) {
      return add_products(__builtin_bit_cast(Float4, column)[part], __builtin_bit_cast(Float4, row)[part], sums);
    } else {
      using Words = typename MfmaWords<is_whole>::Type;
      using Parts = OperandParts<Words, parts>;
      const Words a = __builtin_bit_cast(Parts, column).words[part], b = __builtin_bit_cast(Parts, row).words[part];
      if constexpr (products == Products::xf32)
        return add_xf32_products(a, b, sums);
      else if constexpr (products == Products::float16)
        return add_float16_products(a, b, sums);
      else
        return add_bfloat16_products(a, b, sums);
    }
  }
};

template <Products products>
struct WmmaUnit {
  static constexpr bool is_whole = own_gpu.matrix_unit == machine::MatrixUnit::wmma;  // RDNA3
  using Accumulator = kernels::Accumulator<16, 32, is_bytes(products)>;
  using Sums = typename Accumulator::Sums;
  typedef uint32_t Operand __attribute__((ext_vector_type(is_whole ? 8 : 4)));
  static constexpr int parts = is_bytes(products) ? 2 : 1;
  // One after the other: the sums need the registers.
  static constexpr bool holds_columns = false;

  // Result r of the first half of the wavefront is that of column 2 r on RDNA3, and of column r on RDNA4; the other
  // half has the columns between, or after. They are to be those of four adjacent results in either half.
  __device__ static int lds_column(int column) {
    const int four = column >> 3 & 1, half = column >> 2 & 1, one = column & 3, whole = column & ~15;
    return is_whole ? whole | four << 3 | one << 1 | half : whole | half << 3 | four << 2 | one;
  }
  __device__ static Sums add_part(Operand column, Operand row, int part, Sums sums) {
    typedef uint32_t Words __attribute__((ext_vector_type(sizeof(Operand) / 4 / parts)));
    using Parts = OperandParts<Words, parts>;
    const Words a = __builtin_bit_cast(Parts, column).words[part], b = __builtin_bit_cast(Parts, row).words[part];
    if constexpr (is_bytes(products))
      return add_byte_products < products == Products::int8 > (a, b, sums);
    else if constexpr (products == Products::float16)
      return add_float16_products(a, b, sums);
    else
      return add_bfloat16_products(a, b, sums);
  }
};

template <Products products, GemmTile tile, class Unit>
struct MatrixTileProduct : TileSums<products, tile, typename Unit::Accumulator> {
  using Tile = TileSums<products, tile, typename Unit::Accumulator>;
  using Tile::column_tiles, Tile::first_column, Tile::first_row, Tile::row_tiles, Tile::side, Tile::sums;
  using typename Tile::Shared, typename Tile::Sums;
  using Operand = typename Unit::Operand;

  // The LDS position of this lane's first row and column: their chunks of either half of a step.
  static constexpr int chunks = sizeof(Operand) / chunk_bytes;
  const char *rows[2][chunks], *columns[2][chunks];

  __device__ explicit MatrixTileProduct(const Shared& shared) {
    const int lane = thread_index() % wave_lanes;
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half)
#pragma clang loop unroll(full)
      for (int i = 0; i < chunks; ++i) {
        const int chunk = (chunks == 1 ? lane / side : i) + 2 * half;
        rows[half][i] = shared.rows + lds_place(first_row(), chunk);
        columns[half][i] = shared.columns + lds_place(first_column() + lane % side, chunk);
      }
  }

  __device__ static int lds_column(int column) { return Unit::lds_column(column); }

  // The sums of an operand of either, in parts; each part for all accumulators before the next.
  static constexpr int parts = Unit::parts;
  static constexpr int64_t part_elements = (is_half(products) ? 32 : 16) / (2 * parts), most_rest = 32;
  __device__ static Sums add_part(Operand column, Operand row, int part, Sums sum) {
    return Unit::add_part(column, row, part, sum);
  }

  // Tiles of columns whose operands are in registers at once.
  static constexpr int held = Unit::holds_columns ? column_tiles : 1;
  // The first `count` parts, for the columns from tile `first` on.
  __device__ void add(const Operand (&column)[held], const Operand (&row)[row_tiles], int first, int count = parts) {
#pragma clang loop unroll(full)
    for (int part = 0; part < parts && part < count; ++part)
#pragma clang loop unroll(full)
      for (int i = 0; i < row_tiles; ++i)
#pragma clang loop unroll(full)
        for (int j = 0; j < held; ++j) sums[i][first + j] = add_part(column[j], row[i], part, sums[i][first + j]);
  }

  template <int count>
  __device__ static void read(Operand (&operands)[count], const char* const (&of_first)[chunks], int first = 0) {
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) {
      OperandParts<Chunk, chunks> own;
#pragma clang loop unroll(full)
      for (int chunk = 0; chunk < chunks; ++chunk)
        own.words[chunk] =
            *reinterpret_cast<const Chunk*>(of_first[chunk] + (first + i) * side * static_cast<int>(lds_row_bytes));
      operands[i] = __builtin_bit_cast(Operand, own);
    }
  }

  // Elements after the first `rest`, a constant, are padding.
  __device__ void multiply(int64_t rest = most_rest) {
    Operand row[row_tiles], column[held];
    if constexpr (products == Products::bf16x3) {
      Operand low_row[row_tiles], low_column[held];
      read(row, rows[0]);
      read(low_row, rows[1]);
#pragma clang loop unroll(full)
      for (int first = 0; first < column_tiles; first += held) {
        read(column, columns[0], first);
        read(low_column, columns[1], first);
        // The smallest first.
        add(low_column, row, first);
        add(column, low_row, first);
        add(column, row, first);
      }
    } else {
      // One half after the other: both at once would need registers that the sums have.
#pragma clang loop unroll(full)
      for (int half = 0; half < 2; ++half) {
        // Bytes come in whole steps.
        const int of_step = is_bytes(products) ? 2 * parts : smaller(divide_up(rest, part_elements), 2 * parts),
                  count = of_step - half * parts;
        read(row, rows[half]);
#pragma clang loop unroll(full)
        for (int first = 0; first < column_tiles; first += held) {
          read(column, columns[half], first);
          add(column, row, first, count);
        }
      }
    }
  }
};

template <Products products, GemmTile tile>
using MfmaTileProduct = MatrixTileProduct<products, tile, MfmaUnit<products>>;
template <Products products, GemmTile tile>
using WmmaTileProduct = MatrixTileProduct<products, tile, WmmaUnit<products>>;

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
