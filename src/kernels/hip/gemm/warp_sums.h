// The sums of a tile as NVIDIA's matrix unit gives them to the lanes of a warp, in parts of 8 rows and 8 columns: a
// lane has two adjacent columns of one row. Columns lie in LDS in another order, so that those of two parts are four
// adjacent ones (lds_column).
#pragma once

#include "kernels/hip/gemm/gemm_tile.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Each row tile has 16 rows, each pair of columns 16 columns.
template <int row_tiles, int column_pairs, bool are_integers = false>
struct WarpSums {
  using Four = typename FourSums<are_integers>::Type;
  using Sum = typename FourSums<are_integers>::Sum;
  // Two of 8 columns of a row, then the same of the row that is 8 further.
  Sum sums[row_tiles][2 * column_pairs][4];

  static constexpr int rows_a_thread = 2 * row_tiles, fours_a_row = column_pairs;
  __device__ static int lane() { return thread_index() % 32; }
  __device__ static int lane_column() { return lane() % 4 * 4; }
  __device__ static int64_t lane_columns(int64_t stride) { return lane_column() * stride; }
  __device__ Four four(int r, int c) const {
    const Sum(&low)[4] = sums[r / 2][2 * c], (&high)[4] = sums[r / 2][2 * c + 1];
    const int at = r % 2 * 2;
    return {low[at], low[at + 1], high[at], high[at + 1]};
  }
  __device__ void set(int r, int c, int e, float value) { sums[r / 2][2 * c + e / 2][r % 2 * 2 + e % 2] = value; }
  // Columns 4 t and 4 t + 1 of 16 belong to the first tile, 4 t + 2 and 4 t + 3 to the second.
  __device__ static int lds_column(int column) {
    return (column & ~15) | (column >> 1 & 1) << 3 | (column >> 2 & 3) << 1 | (column & 1);
  }

  __device__ void clear() {
#pragma clang loop unroll(full)
    for (int i = 0; i < row_tiles; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < 2 * column_pairs; ++j)
#pragma clang loop unroll(full)
        for (int e = 0; e < 4; ++e) sums[i][j][e] = Sum{};
  }

  // Eight lanes have the rows of a column. An odd number of fours is filled up to halve three times.
  template <class Store>
  __device__ static void sum_rows(float (&own)[4 * fours_a_row], const Store& store) {
    constexpr int columns = 4 * fours_a_row, filled = (columns + 7) / 8 * 8;
    float values[filled];
#pragma clang loop unroll(full)
    for (int k = 0; k < filled; ++k) values[k] = k < columns ? own[k] : 0.0f;
    int first = 0;
    scatter<filled, 16>(values, first);
#pragma clang loop unroll(full)
    for (int k = 0; k < filled / 8; ++k)
      if (columns == filled || first + k < columns) store(first + k, values[k]);
  }
  // Each of two lanes that are `distance` apart keeps half of the columns, and their sums of both.
  template <int count, int distance>
  __device__ static void scatter(float* values, int& first) {
    if constexpr (distance >= 4) {
      const bool is_upper = (thread_index() & distance) != 0;
#pragma clang loop unroll(full)
      for (int i = 0; i < count / 2; ++i) {
        const float low = values[i], high = values[i + count / 2];
        const float kept = is_upper ? high : low, sent = is_upper ? low : high;
        values[i] = kept + exchange<distance, false>(sent);
      }
      first += is_upper ? count / 2 : 0;
      scatter<count / 2, distance / 2>(values, first);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
