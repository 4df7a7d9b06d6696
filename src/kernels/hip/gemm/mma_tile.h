// The product of two tiles (gemm_tile.h) on the matrix unit of NVIDIA's GPUs, whose instructions a warp of 32 lanes
// makes together; float32 on the vector unit, with the sums in the same threads.
//
// Each warp, half of a quarter of the block, has half of the quarter's rows and all its columns, in tiles of 16 rows
// and 8 columns. Rows are the first operand. A read of matrices takes chunks of eight rows that follow one another,
// which lds_place has in different banks.
//
// Chunks that are stored as they are pass no register on their way to LDS: as many steps as it has room for are
// under way (GemmPlan::stages).
//
// Bytes lie as words of four do; their sums are integers.
//
// Bound by: LDS, whose rows each warp reads for its own columns: large tiles read less for a product.
#pragma once

#include "kernels/hip/gemm/warp_sums.h"
#include "kernels/hip/nvidia/matrix_words.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <Products products, GemmTile tile>
struct MmaTileProduct
    : WarpSums<tile.rows / tile.row_waves() / 32, tile.columns / tile.column_waves() / 16, is_bytes(products)> {
  static constexpr int column_waves = tile.column_waves();
  static constexpr int wave_rows = tile.rows / tile.row_waves() / 2, wave_columns = tile.columns / column_waves;
  static constexpr int row_tiles = wave_rows / 16, column_pairs = wave_columns / 16;
  using Sums = WarpSums<row_tiles, column_pairs, is_bytes(products)>;
  using Sums::lane, Sums::sums, Sums::rows_a_thread, Sums::fours_a_row;
  using typename Sums::Sum;

  struct Shared {
    alignas(16) char rows[tile.rows * lds_row_bytes];
    alignas(16) char columns[lds_columns(tile) * lds_row_bytes];
  };

  // ---- the layout of the sums, as TileSums has it

  __device__ static int first_row() {
    return quarter_index() / column_waves * 2 * wave_rows + thread_index() / 32 % 2 * wave_rows;
  }
  __device__ static int first_column() { return quarter_index() % column_waves * wave_columns; }
  __device__ static int row_at(int r) { return first_row() + r * 8 + lane() / 4; }
  __device__ static int column_at(int c) { return first_column() + c * 16; }
  static constexpr int partial_sums = tile.row_waves() * 2;
  __device__ static int partial_sum() { return quarter_index() / column_waves * 2 + thread_index() / 32 % 2; }

  // ---- operands

  __device__ static void store_chunk(char* operand, int row, int chunk, Chunk value) {
    if constexpr (products == Products::bf16x3)
      store_split(operand, row, chunk, value);
    else
      store_packed(operand, row, chunk, value);
  }
  __device__ static void store_packed(char* operand, int row, int chunk, Chunk value) {
    *reinterpret_cast<Chunk*>(operand + lds_place(row, chunk)) = value;
  }
  // Rows are read again at the next taps, and by the blocks of other columns: L1 may have them.
  template <bool are_rows>
  __device__ static void copy_chunk(const char* operand, int row, int chunk, const void* from, bool is_real) {
    copy_to_lds<are_rows>(lds_address(operand + lds_place(row, chunk)), from, is_real);
  }
  __device__ static void end_copies() { kernels::end_copies(); }
  template <int left>
  __device__ static void wait_for_copies() {
    kernels::wait_for_copies<left>();
  }

  // ---- products

  // The addresses of this lane's rows of matrices, in either half of a step; of the tile itself, for float32.
  LdsAddress rows[2], columns[2], all_rows, all_columns;

  __device__ explicit MmaTileProduct(const Shared& shared)
      : all_rows(lds_address(shared.rows)), all_columns(lds_address(shared.columns)) {
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half) {
      rows[half] = all_rows + lds_place(first_row() + lane() % 16, 2 * half + lane() / 16);
      columns[half] = all_columns + lds_place(first_column() + lane() / 16 * 8 + lane() % 8, 2 * half + lane() / 8 % 2);
    }
  }

  __device__ static Chunk matrices(LdsAddress first, int tile_of_16) {
    Chunk words = load_matrices(first + tile_of_16 * 16 * static_cast<int>(lds_row_bytes));
    if constexpr (products == Products::xf32)
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i) words[i] = rounded_to_tf32(words[i]);
    return words;
  }
  __device__ static void add_products(Sum (&sums)[4], Chunk rows, uint32_t first, uint32_t second) {
    if constexpr (is_bytes(products))
      add_byte_products<products == Products::int8>(sums, rows, first, second);
    else if constexpr (products == Products::float16)
      add_float16_products(sums, rows, first, second);
    else if constexpr (products == Products::xf32)
      add_tf32_products(sums, rows, first, second);
    else
      add_bfloat16_products(sums, rows, first, second);
  }
  // The products of two tiles of columns with all rows.
  __device__ void add(int column_pair, const Chunk (&row)[row_tiles], Chunk column) {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i) {
      add_products(sums[i][2 * column_pair], row[i], column.x, column.y);
      add_products(sums[i][2 * column_pair + 1], row[i], column.z, column.w);
    }
  }
  __device__ static void read(Chunk (&row)[row_tiles], LdsAddress first) {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i) row[i] = matrices(first, i);
  }

  // The products of a step: `stage` is the number of its operands in LDS. Padding is multiplied as well: it is zero in
  // both.
  __device__ void multiply_stage(int stage) {
    const LdsAddress further = stage * static_cast<int>(sizeof(Shared));
    if constexpr (products == Products::float32)
      multiply_floats(further);
    else if constexpr (products == Products::bf16x3)
      multiply_split(further);
    else
      multiply_words(further);
  }
  static constexpr int64_t most_rest = 32;
  __device__ void multiply(int64_t /*rest*/ = most_rest) { multiply_stage(0); }

  __device__ void multiply_words(LdsAddress further) {
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half) {
      Chunk row[row_tiles];
      read(row, rows[half] + further);
#pragma clang loop unroll(full)
      for (int j = 0; j < column_pairs; ++j) add(j, row, matrices(columns[half] + further, j));
    }
  }
  // High parts are the first half of a step, low ones the second; the smallest first.
  __device__ void multiply_split(LdsAddress further) {
    Chunk high_row[row_tiles], low_row[row_tiles];
    read(high_row, rows[0] + further);
    read(low_row, rows[1] + further);
#pragma clang loop unroll(full)
    for (int j = 0; j < column_pairs; ++j) {
      const Chunk high = matrices(columns[0] + further, j), low = matrices(columns[1] + further, j);
      add(j, low_row, high);
      add(j, high_row, low);
      add(j, high_row, high);
    }
  }

  // A chunk of each row, then of one column after the other.
  __device__ void multiply_floats(LdsAddress further) {
    constexpr auto row_bytes = static_cast<int>(lds_row_bytes);
    const LdsAddress row_place = all_rows + further, column_place = all_columns + further;
    const int own_row = first_row() + lane() / 4, own_column = first_column() + lane() % 4 * 2;
#pragma clang loop unroll(disable)
    for (int chunk = 0; chunk < 4; ++chunk) {
      // Rows that are 8 apart have their chunks in the same order.
      const LdsAddress first_row_chunk = row_place + lds_place(own_row, chunk),
                       first_column_chunk = column_place + lds_place(own_column, chunk);
      Float4 row[rows_a_thread];
#pragma clang loop unroll(full)
      for (int r = 0; r < rows_a_thread; ++r) row[r] = load_from_lds<Float4>(first_row_chunk + r * 8 * row_bytes);
#pragma clang loop unroll(full)
      for (int c = 0; c < fours_a_row; ++c)
#pragma clang loop unroll(full)
        for (int e = 0; e < 4; ++e) {
          const Float4 factors = load_from_lds<Float4>(first_column_chunk + (c * 16 + e / 2 * 8 + e % 2) * row_bytes);
#pragma clang loop unroll(full)
          for (int k = 0; k < 4; ++k)
#pragma clang loop unroll(full)
            for (int r = 0; r < rows_a_thread; ++r) {
              float& sum = sums[r / 2][2 * c + e / 2][r % 2 * 2 + e % 2];
              sum = __builtin_fmaf(row[r][k], factors[k], sum);
            }
        }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
