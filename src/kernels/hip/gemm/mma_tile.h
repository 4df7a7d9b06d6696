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
    alignas(lds_row_bytes) char rows[tile.rows * lds_row_bytes];
    alignas(lds_row_bytes) char columns[lds_columns(tile) * lds_row_bytes];
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

  // The addresses of this lane's chunks of the first row and column tile: the first chunks of a step.
  LdsAddress rows, columns;

  __device__ explicit MmaTileProduct(const Shared& shared)
      : rows(lds_address(shared.rows)), columns(lds_address(shared.columns)) {
    if constexpr (products == Products::float32) {
      rows += lds_place(first_row() + lane() / 4, 0);
      columns += lds_place(first_column() + lane() % 4 * 2, 0);
    } else {
      rows += lds_place(first_row() + lane() % 16, lane() / 16);
      columns += lds_place(first_column() + lane() / 16 * 8 + lane() % 8, lane() / 8 % 2);
    }
  }
  // The same `bytes` further in a step, by lds_place: operands begin at multiples of a row.
  __device__ static LdsAddress bytes_further(LdsAddress first, int bytes) {
    return first ^ static_cast<LdsAddress>(bytes);
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
  // The products of a tile of rows with two tiles of columns.
  __device__ void add(int row_tile, int column_pair, Chunk row, Chunk column) {
    add_products(sums[row_tile][2 * column_pair], row, column.x, column.y);
    add_products(sums[row_tile][2 * column_pair + 1], row, column.z, column.w);
  }
  // Registers hold all of the operand that needs fewer of them, and one matrix after the other of the other one.
  static constexpr bool holds_rows = row_tiles <= column_pairs;
  static constexpr int held = holds_rows ? row_tiles : column_pairs, passing = holds_rows ? column_pairs : row_tiles;
  using Held = Chunk[held];
  __device__ static void read(Held& words, LdsAddress first) {
#pragma clang loop unroll(full)
    for (int i = 0; i < held; ++i) words[i] = matrices(first, i);
  }
  __device__ void add_to_held(const Held& words, int number, Chunk passed) {
#pragma clang loop unroll(full)
    for (int i = 0; i < held; ++i) holds_rows ? add(i, number, words[i], passed) : add(number, i, passed, words[i]);
  }

  // The products of a step: `stage` is the number of its operands in LDS. Padding is multiplied as well: it is zero in
  // both.
  __device__ void multiply_stage(int stage) {
    const LdsAddress further = stage * static_cast<int>(sizeof(Shared));
    if constexpr (products == Products::float32)
      multiply_floats(further);
    else if constexpr (products == Products::bf16x3)
      multiply_split((holds_rows ? rows : columns) + further, (holds_rows ? columns : rows) + further);
    else
      multiply_words((holds_rows ? rows : columns) + further, (holds_rows ? columns : rows) + further);
  }
  static constexpr int64_t most_rest = 32;
  __device__ void multiply(int64_t /*rest*/ = most_rest) { multiply_stage(0); }

  static constexpr int half_bytes = lds_row_bytes / 2;
  __device__ void multiply_words(LdsAddress of_held, LdsAddress of_passing) {
#pragma clang loop unroll(full)
    for (int half = 0; half < 2; ++half) {
      Held words;
      read(words, bytes_further(of_held, half * half_bytes));
#pragma clang loop unroll(full)
      for (int i = 0; i < passing; ++i)
        add_to_held(words, i, matrices(bytes_further(of_passing, half * half_bytes), i));
    }
  }
  // High parts are the first half of a step, low ones the second; the smallest first.
  __device__ void multiply_split(LdsAddress of_held, LdsAddress of_passing) {
    Held high_words, low_words;
    read(high_words, of_held);
    read(low_words, bytes_further(of_held, half_bytes));
#pragma clang loop unroll(full)
    for (int i = 0; i < passing; ++i) {
      const Chunk high = matrices(of_passing, i), low = matrices(bytes_further(of_passing, half_bytes), i);
      add_to_held(low_words, i, high);
      add_to_held(high_words, i, low);
      add_to_held(high_words, i, high);
    }
  }

  // Some elements of each row, a chunk or half of one, then of one column after the other. The rows' take 16 registers
  // at most: with the sums of the largest tiles and the places that copies are at, a thread would have too few.
  static constexpr int floats_at_once = rows_a_thread > 4 ? 2 : 4;
  typedef float Floats __attribute__((ext_vector_type(floats_at_once)));
  __device__ void multiply_floats(LdsAddress further) {
    constexpr auto row_bytes = static_cast<int>(lds_row_bytes);
#pragma clang loop unroll(disable)
    for (int at = 0; at < row_bytes; at += static_cast<int>(sizeof(Floats))) {
      // Rows that are 8 apart have their chunks in the same order.
      const LdsAddress of_rows = bytes_further(rows, at) + further, of_columns = bytes_further(columns, at) + further;
      Floats row[rows_a_thread];
#pragma clang loop unroll(full)
      for (int r = 0; r < rows_a_thread; ++r) row[r] = load_from_lds<Floats>(of_rows + r * 8 * row_bytes);
#pragma clang loop unroll(full)
      for (int c = 0; c < fours_a_row; ++c)
#pragma clang loop unroll(full)
        for (int e = 0; e < 4; ++e) {
          const auto factors = load_from_lds<Floats>(of_columns + (c * 16 + e / 2 * 8 + e % 2) * row_bytes);
#pragma clang loop unroll(full)
          for (int k = 0; k < floats_at_once; ++k)
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
