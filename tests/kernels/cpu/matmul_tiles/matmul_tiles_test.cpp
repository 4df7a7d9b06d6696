// TilesMatrixProduct, on the emulation unless the tests are compiled for a machine with AMX.
#include "kernels/cpu/matmul_tiles/matmul_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/matmul_int8/byte_matmul_harness.h"

namespace onnxc::kernels {
namespace {

// Adds integers that only the right position gives; reads no lane past `count`.
struct PositionOfMatrix {
  const float* bias;
  vec operator()(vec sum, const MatrixPosition& p) const {
    const auto place = static_cast<float>(p.batch[2] * 5 + p.batch[3] * 3 + p.row);
    return sum + load_partial(bias + p.column, p.count) + splat(place);
  }
};

struct Sizes {
  int64_t outer = 1, inner = 1;  // axes of the batch
  int64_t rows, depth, columns;
  bool is_transposed = false;  // a: its columns are contiguous
};

// Rows of both matrices have gaps of NaN after them, which nobody may read for a number or write.
constexpr int64_t gap = 3;
constexpr float untouched = std::numeric_limits<float>::quiet_NaN();

template <class Elements>
auto pack(const ConvShape& shape, const std::vector<float>& matrix) {
  if constexpr (Elements::kind == TilesKind::digits)
    return pack_tiles_digits(shape, matrix);
  else
    return pack_tiles_weights(shape, matrix);
}

template <class Elements = TilesOfBfloat16, class A = bfloat16_t>
void check(const Sizes& sizes, const Trial& trial = {}) {
  const auto [outer, inner, rows, depth, columns, is_transposed] = sizes;
  std::vector<float> values(static_cast<size_t>(outer * inner * rows * depth)),
      matrix(static_cast<size_t>(columns * depth)), bias(static_cast<size_t>(columns));
  trial.fill(values, 1);
  trial.fill(matrix, 2);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 50);

  const int64_t lines = is_transposed ? depth : rows, line = (is_transposed ? rows : depth) + gap;
  std::vector<A> a(static_cast<size_t>(outer * inner * lines * line), A(untouched));
  const auto place = [&](int64_t matrix_index, int64_t row, int64_t k) {
    return static_cast<size_t>(matrix_index * lines * line + (is_transposed ? k * line + row : row * line + k));
  };
  const int64_t distance = columns + gap;
  std::vector<float> output(static_cast<size_t>(outer * inner * rows * distance), untouched);
  std::vector<double> expected(output.size(), untouched);
  for (int64_t i = 0; i < outer * inner; ++i)
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < depth; ++k)
        a[place(i, row, k)] = A(values[static_cast<size_t>((i * rows + row) * depth + k)]);
      for (int64_t column = 0; column < columns; ++column) {
        double sum = static_cast<double>(i / inner * 5 + i % inner * 3 + row) + bias[static_cast<size_t>(column)];
        for (int64_t k = 0; k < depth; ++k)
          sum += static_cast<double>(static_cast<float>(a[place(i, row, k)])) *
                 matrix[static_cast<size_t>(column * depth + k)];
        expected[static_cast<size_t>((i * rows + row) * distance + column)] = sum;
      }
    }

  const TilesPacking packing = tiles_matrix_packing(depth, columns, Elements::kind);
  const std::unique_ptr<void, AlignedFree> b = nan_scratch(packing.size());
  const auto copy = [&](const auto& packed) { std::memcpy(b.get(), packed.data(), packed.size() * sizeof(packed[0])); };
  copy(pack<Elements>(packing.shape, matrix));
  const MatrixView a_view{
      {0, 0, inner * lines * line, lines * line}, is_transposed ? 1 : line, is_transposed ? line : 1};
  const MatrixView output_view{{0, 0, inner * rows * distance, rows * distance}, distance, 1};
  using Kernel = TilesMatrixProduct<A, float, PositionOfMatrix, Elements>;
  run_tasks_backwards<Kernel>({a.data(),
                               static_cast<const typename Elements::Weight*>(b.get()),
                               output.data(),
                               {{1, 1, outer, inner}, rows, columns, depth},
                               a_view,
                               output_view,
                               {}},
                              PositionOfMatrix{bias.data()});
  for (size_t i = 0; i < output.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(output[i])) << i;
    else if (output[i] != static_cast<float>(expected[i]))  // infinities have no difference
      EXPECT_NEAR(output[i], static_cast<float>(expected[i]), trial.tolerance)
          << rows << "x" << depth << "x" << columns << ", row " << static_cast<int64_t>(i) / distance << ", column "
          << static_cast<int64_t>(i) % distance;
  }
}

TEST(ISA_SUITE(TilesMatrixProduct), EveryNumberOfRowsColumnsAndDepthAroundATile) {
  for (const int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 95, 96, 97})
    check({.rows = rows, .depth = 5, .columns = 19});
  for (const int64_t columns : {1, 7, 8, 9, 15, 16, 17, 32, 50}) check({.rows = 7, .depth = 6, .columns = columns});
  for (const int64_t depth : {1, 7, 8, 16, 17, 31, 32, 33, 48, 63, 64, 65, 200})
    check({.rows = 5, .depth = depth, .columns = 17});
}

TEST(ISA_SUITE(TilesMatrixProduct), BatchesAndTransposedRows) {
  check({.outer = 2, .inner = 3, .rows = 4, .depth = 7, .columns = 5});
  check({.inner = 2, .rows = 37, .depth = 40, .columns = 18, .is_transposed = true});
}

TilesMatmulGeometry geometry_of(const Sizes& sizes, TilesKind kind = TilesKind::bfloat16) {
  return tiles_matmul_geometry(tiles_matrix_packing(sizes.depth, sizes.columns, kind),
                               {{1, 1, sizes.outer, sizes.inner}, sizes.rows, sizes.columns, sizes.depth});
}

TEST(ISA_SUITE(TilesMatrixProduct), SeveralTasks) {
  const Sizes many{.inner = 2, .rows = 500, .depth = 900, .columns = 70};
  EXPECT_GT(geometry_of(many).row_blocks, 1);
  check(many);
  const Sizes wide{.rows = 20, .depth = 40, .columns = 300};
  EXPECT_GT(geometry_of(wide).columns.splits, 1);
  check(wide);
}

template <class A>
void check_bytes(const ByteSizes& sizes, A zero_point) {
  check_byte_product<TilesMatrixProduct<A, int32_t, IntegerPositionOfMatrix, TilesOfBytes>>(
      sizes, zero_point, [&](const std::vector<int8_t>& matrix) {
        return pack_tiles_weights(tiles_matrix_packing(sizes.depth, sizes.columns, TilesKind::bytes).shape, 1, matrix);
      });
}

TEST(ISA_SUITE(TilesMatrixProduct), Bytes) {
  for (const int64_t rows : {1, 15, 16, 17, 95, 96, 97})
    check_bytes<uint8_t>({.rows = rows, .depth = 5, .columns = 19}, uint8_t(3));
  for (const int64_t depth : {1, 15, 63, 64, 65, 200})
    check_bytes<int8_t>({.outer = 2, .inner = 3, .rows = 5, .depth = depth, .columns = 17}, int8_t(-7));
  const ByteSizes sizes{.rows = 3, .depth = 21, .columns = 9};
  for (const int zero_point : {0, 1, 128, 255}) check_bytes<uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check_bytes<int8_t>(sizes, static_cast<int8_t>(zero_point));
}

// The products are exact; additions round by 2^-24 of partial sums below 8 * sqrt(products).
TEST(ISA_SUITE(TilesMatrixProduct), RandomValuesWithinTheRoundingsOfTheSum) {
  const auto fill = [](std::vector<float>& values, uint32_t seed) {
    fill_with_normals(values, seed);
    for (float& value : values) value = static_cast<float>(bfloat16_t(value));
  };
  check({.rows = 40, .depth = 300, .columns = 20}, {fill, 300 * 0x1p-24 * 8 * std::sqrt(300.0)});
}

// ---- digits

void check_digits(const Sizes& sizes, const Trial& trial = {}) { check<TilesOfDigits, float>(sizes, trial); }

// Integers below 2^15 are exact.
TEST(ISA_SUITE(TilesMatrixProduct), DigitsOfEveryNumberOfRowsColumnsAndDepthAroundATile) {
  for (const int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 65}) check_digits({.rows = rows, .depth = 5, .columns = 19});
  for (const int64_t columns : {1, 7, 8, 9, 15, 16, 17, 32, 50})
    check_digits({.rows = 7, .depth = 6, .columns = columns});
  for (const int64_t depth : {1, 7, 8, 9, 15, 16, 17, 48, 63, 64, 65, 200})
    check_digits({.rows = 5, .depth = depth, .columns = 17});
}

TEST(ISA_SUITE(TilesMatrixProduct), DigitsOfBatchesTransposedRowsAndSeveralTasks) {
  check_digits({.outer = 2, .inner = 3, .rows = 4, .depth = 7, .columns = 5});
  check_digits({.inner = 2, .rows = 37, .depth = 70, .columns = 18, .is_transposed = true});
  const Sizes many{.inner = 2, .rows = 150, .depth = 2000, .columns = 40};
  EXPECT_GT(geometry_of(many, TilesKind::digits).row_blocks, 1);
  check_digits(many);
  const Sizes wide{.rows = 20, .depth = 40, .columns = 300};
  EXPECT_GT(geometry_of(wide, TilesKind::digits).columns.splits, 1);
  check_digits(wide);
}

TEST(ISA_SUITE(TilesMatrixProduct), DigitsThatAreNotFinite) {
  check_digits({.rows = 37, .depth = 70, .columns = 18}, {.fill = fill_with_some_not_finite});
}

// Each row is off by what its own numbers and the rounding of weights explain, whatever other rows hold. Here row i is
// 2^(7 i - 60) times a normal distribution, i modulo 16, and every fourth has an outlier, 2^3 to 2^51 times the rest.
TEST(ISA_SUITE(TilesMatrixProduct), DigitsHaveTheSameBitsWhereverARowStands) {
  constexpr int64_t rows = 40, depth = 130, columns = 21;
  std::vector<float> a(rows * depth), matrix(columns * depth);
  fill_with_normals(a, 1);
  fill_with_normals(matrix, 2);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < depth; ++k)
      a[static_cast<size_t>(row * depth + k)] *= std::ldexp(1.0f, static_cast<int>(7 * (row % 16) - 60));
    if (row % 4 == 0) a[static_cast<size_t>(row * depth + row)] *= std::ldexp(1.0f, static_cast<int>(3 * row + 3) % 60);
  }
  const TilesPacking packing = tiles_matrix_packing(depth, columns, TilesKind::digits);
  const std::unique_ptr<void, AlignedFree> b = nan_scratch(packing.size());
  const std::vector<uint8_t> packed = pack_tiles_digits(packing.shape, matrix);
  std::memcpy(b.get(), packed.data(), packed.size());
  using Kernel = TilesMatrixProduct<float, float, NoMatrixEpilogue, TilesOfDigits>;
  const auto multiply = [&](int64_t first, int64_t count) {
    std::vector<float> output(static_cast<size_t>(count * columns), untouched);
    run_tasks_backwards<Kernel>({a.data() + first * depth,
                                 static_cast<const uint8_t*>(b.get()),
                                 output.data(),
                                 {{1, 1, 1, 1}, count, columns, depth},
                                 {{}, depth, 1},
                                 {{}, columns, 1},
                                 {}},
                                NoMatrixEpilogue());
    return output;
  };
  const std::vector<float> all = multiply(0, rows);
  for (int64_t row = 0; row < rows; ++row) {
    const std::vector<float> alone = multiply(row, 1);
    const std::vector<float> shifted = multiply(std::max<int64_t>(row - 3, 0), std::min<int64_t>(rows - row, 9));
    const auto at = static_cast<size_t>((row - std::max<int64_t>(row - 3, 0)) * columns);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * columns)) << row;
    if (at < shifted.size())
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), shifted.begin() + static_cast<ptrdiff_t>(at))) << row;
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0.0, sizes = 0.0, largest_weight = 0.0, inputs = 0.0;
      for (int64_t k = 0; k < depth; ++k) {
        const double input = a[static_cast<size_t>(row * depth + k)];
        const double weight = matrix[static_cast<size_t>(column * depth + k)];
        sum += input * weight;
        sizes += std::abs(input * weight);
        inputs += std::abs(input);
        largest_weight = std::max(largest_weight, std::abs(weight));
      }
      EXPECT_NEAR(alone[static_cast<size_t>(column)], sum, 0x1p-20 * sizes + 0x1p-24 * largest_weight * inputs)
          << row << ", " << column;
    }
  }
}

TEST(ISA_SUITE(TilesMatrixProduct), NothingToDo) {
  using Kernel = TilesMatrixProduct<bfloat16_t, float, NoMatrixEpilogue, TilesOfBfloat16>;
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 0, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 0}, 3, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 3, 0, 4}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
