// ByteMatrixProduct: exact sums for every number of rows, columns and depth, zero points of both types, batches, views.
#include "kernels/cpu/matmul_int8/matmul_int8.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Adds integers that only the right position gives; reads no lane past `count`.
struct PositionOfMatrix {
  const int32_t* bias;
  vec_int32 operator()(vec_int32 sum, const MatrixPosition& p) const {
    const auto place = static_cast<int32_t>(p.batch[2] * 5 + p.batch[3] * 3 + p.row);
    return sum + load_partial(bias + p.column, p.count) + splat(place);
  }
};

struct Sizes {
  int64_t outer = 1, inner = 1;  // axes of the batch
  int64_t rows, depth, columns;
};

// Rows of both matrices have gaps behind them, which nobody may read for a number or write.
constexpr int64_t gap = 3;
constexpr int32_t untouched = 77;

template <class A>
void check(const Sizes& sizes, A zero_point = A(3)) {
  const auto [outer, inner, rows, depth, columns] = sizes;
  std::vector<float> values(static_cast<size_t>(outer * inner * rows * (depth + gap))), matrix;
  matrix.resize(static_cast<size_t>(columns * depth));
  fill_with_bytes<A>(values, 1);
  fill_with_bytes<int8_t>(matrix, 2);
  const std::vector<A> a(values.begin(), values.end());
  std::vector<int32_t> bias(static_cast<size_t>(columns));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<int32_t>(i * i);
  const Int8Packing packing = byte_matrix_packing(depth, columns, lanes);
  const std::vector<uint8_t> packed =
      pack_int8_weights(packing.shape, lanes, 1, std::vector<int8_t>(matrix.begin(), matrix.end()));

  const int64_t distance = columns + gap, row_distance = depth + gap;
  std::vector<int32_t> output(static_cast<size_t>(outer * inner * rows * distance), untouched), expected = output;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) {
          const int64_t at = (o * inner + i) * rows + row;
          int64_t sum = o * 5 + i * 3 + row + bias[static_cast<size_t>(column)];
          for (int64_t k = 0; k < depth; ++k)
            sum += (int64_t{a[static_cast<size_t>(at * row_distance + k)]} - zero_point) *
                   static_cast<int64_t>(matrix[static_cast<size_t>(column * depth + k)]);
          expected[static_cast<size_t>(at * distance + column)] = static_cast<int32_t>(sum);
        }

  const MatrixView a_view{{0, 0, inner * rows * row_distance, rows * row_distance}, row_distance, 1};
  const MatrixView output_view{{0, 0, inner * rows * distance, rows * distance}, distance, 1};
  using Kernel = ByteMatrixProduct<A, int32_t, PositionOfMatrix>;
  run_tasks_backwards<Kernel>({a.data(),
                               packed.data(),
                               output.data(),
                               {{1, 1, outer, inner}, rows, columns, depth},
                               a_view,
                               output_view,
                               zero_point},
                              PositionOfMatrix{bias.data()});
  EXPECT_EQ(output, expected) << rows << "x" << depth << "x" << columns;
}

TEST(ISA_SUITE(ByteMatrixProduct), EveryNumberOfRowsColumnsAndDepthAroundTheTile) {
  for (int64_t rows = 1; rows <= 26; ++rows) check<uint8_t>({.rows = rows, .depth = 5, .columns = 2 * lanes + 3});
  for (int64_t columns = 1; columns <= 4 * lanes + 1; ++columns)
    check<int8_t>({.rows = 7, .depth = 6, .columns = columns});
  for (int64_t depth = 0; depth <= 10; ++depth) check<uint8_t>({.rows = 5, .depth = depth, .columns = lanes + 1});
}

TEST(ISA_SUITE(ByteMatrixProduct), ZeroPointsAtTheEndsOfBothTypes) {
  const Sizes sizes{.rows = 3, .depth = 21, .columns = 9};
  for (const int zero_point : {0, 1, 128, 255}) check<uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check<int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(ByteMatrixProduct), BatchesAndSeveralTasks) {
  check<uint8_t>({.outer = 2, .inner = 3, .rows = 4, .depth = 7, .columns = 5});
  const Sizes many{.inner = 2, .rows = 150, .depth = 1500, .columns = 5 * lanes};
  const ByteMatmulGeometry geometry = byte_matmul_geometry(lanes, {{1, 1, 1, 2}, many.rows, many.columns, many.depth});
  EXPECT_GT(geometry.row_blocks, 1);
  EXPECT_GT(geometry.columns.splits, 1);
  check<int8_t>(many);
}

TEST(ISA_SUITE(ByteMatrixProduct), NothingToDo) {
  using Kernel = ByteMatrixProduct<uint8_t, int32_t, PositionOfMatrix>;
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 0, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 0}, 3, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 3, 0, 4}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
