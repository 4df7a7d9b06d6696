// ByteMatrixProduct: exact sums for every number of rows, columns and depth, zero points of both types, batches, views.
#include "kernels/cpu/matmul_int8/matmul_int8.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_int8/conv_int8_packing.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/matmul_int8/byte_matmul_harness.h"

namespace onnxc::kernels {
namespace {

template <class A>
void check(const ByteSizes& sizes, A zero_point = A(3)) {
  check_byte_product<ByteMatrixProduct<A, int32_t, IntegerPositionOfMatrix>>(
      sizes, zero_point, [&](const std::vector<int8_t>& matrix) {
        return pack_int8_weights(byte_matrix_packing(sizes.depth, sizes.columns, lanes).shape, lanes, 1, matrix);
      });
}

TEST(ISA_SUITE(ByteMatrixProduct), EveryNumberOfRowsColumnsAndDepthAroundTheTile) {
  for (int64_t rows = 1; rows <= 26; ++rows) check<uint8_t>({.rows = rows, .depth = 5, .columns = 2 * lanes + 3});
  for (int64_t columns = 1; columns <= 4 * lanes + 1; ++columns)
    check<int8_t>({.rows = 7, .depth = 6, .columns = columns});
  for (int64_t depth = 0; depth <= 10; ++depth) check<uint8_t>({.rows = 5, .depth = depth, .columns = lanes + 1});
}

TEST(ISA_SUITE(ByteMatrixProduct), ZeroPointsAtTheEndsOfBothTypes) {
  const ByteSizes sizes{.rows = 3, .depth = 21, .columns = 9};
  for (const int zero_point : {0, 1, 128, 255}) check<uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check<int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(ByteMatrixProduct), BatchesAndSeveralTasks) {
  check<uint8_t>({.outer = 2, .inner = 3, .rows = 4, .depth = 7, .columns = 5});
  const ByteSizes many{.inner = 2, .rows = 150, .depth = 1500, .columns = 5 * lanes};
  const ByteMatmulGeometry geometry = byte_matmul_geometry(lanes, {{1, 1, 1, 2}, many.rows, many.columns, many.depth});
  EXPECT_GT(geometry.row_blocks, 1);
  EXPECT_GT(geometry.columns.splits, 1);
  check<int8_t>(many);
}

TEST(ISA_SUITE(ByteMatrixProduct), NothingToDo) {
  using Kernel = ByteMatrixProduct<uint8_t, int32_t, IntegerPositionOfMatrix>;
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 0, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 0}, 3, 4, 4}).tasks, 0);
  EXPECT_EQ(Kernel::work({{1, 1, 1, 1}, 3, 0, 4}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
