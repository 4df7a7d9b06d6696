#include "kernels/cpu/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/matmul/matmul_packing.h"

namespace onnxc::kernels {
namespace {

// A batch of matrices in memory of its own size exactly, with gaps of NaN after rows (or columns, when transposed).
template <class T>
struct Matrices {
  int64_t batch[4], rows, columns;
  MatrixView view;
  std::vector<T> storage;

  // `broadcast` has a bit for each batch axis that the operand lacks.
  Matrices(const int64_t (&batch_)[4], int64_t rows_, int64_t columns_, bool transposed, int broadcast)
      : rows(rows_), columns(columns_) {
    const int64_t inner = transposed ? rows : columns, outer = transposed ? columns : rows;
    const int64_t distance = inner + 3;
    view.row_stride = transposed ? 1 : distance;
    view.column_stride = transposed ? distance : 1;
    int64_t stride = outer * distance;
    for (int axis = 3; axis >= 0; --axis) {
      batch[axis] = broadcast >> axis & 1 ? 1 : batch_[axis];
      view.batch_strides[axis] = broadcast >> axis & 1 ? 0 : stride;
      stride *= batch[axis];
    }
    storage.assign(static_cast<size_t>(stride), T(std::numeric_limits<float>::quiet_NaN()));
  }

  T& at(const int64_t (&b)[4], int64_t row, int64_t column) {
    int64_t offset = row * view.row_stride + column * view.column_stride;
    for (int axis = 0; axis < 4; ++axis) offset += b[axis] * view.batch_strides[axis];
    return storage[static_cast<size_t>(offset)];
  }

  template <class Visitor>
  void for_each_batch(Visitor visit) {
    int64_t b[4];
    for (b[0] = 0; b[0] < batch[0]; ++b[0])
      for (b[1] = 0; b[1] < batch[1]; ++b[1])
        for (b[2] = 0; b[2] < batch[2]; ++b[2])
          for (b[3] = 0; b[3] < batch[3]; ++b[3]) visit(b);
  }

  void fill(const Trial& trial, uint32_t seed) {
    std::vector<float> values(static_cast<size_t>(batch[0] * batch[1] * batch[2] * batch[3] * rows * columns));
    trial.fill(values, seed);
    size_t next = 0;
    for_each_batch([&](const int64_t(&b)[4]) {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column) at(b, row, column) = T(values[next++]);
    });
  }
};

// Adds integers that only the right position gives, a bias by column and a residual; reads no lane past `count`.
template <class Output>
struct MatrixTestEpilogue {
  const float* bias;
  const Output* residual;
  vec operator()(vec accumulator, const MatrixPosition& p) const {
    const float place = static_cast<float>(p.batch[0] * 11 + p.batch[1] * 7 + p.batch[2] * 5 + p.batch[3] * 3 + p.row);
    return accumulator + load_partial(bias + p.column, p.count) + load_partial(residual + p.offset, p.count) +
           splat(place);
  }
};

struct Case {
  int64_t batch[4] = {1, 1, 1, 1};
  int64_t rows, depth, columns;
  bool a_transposed = false, b_transposed = false;
  int a_broadcast = 0, b_broadcast = 0;
  Trial trial = {};
};

template <class Output>
void expect_equal(const Case& c, Matrices<Output>& expected, Matrices<Output>& output) {
  int wrong = 0;
  for (size_t i = 0; i < output.storage.size(); ++i) {
    const auto value = static_cast<float>(output.storage[i]), reference = static_cast<float>(expected.storage[i]);
    const bool equal = std::isnan(reference) ? std::isnan(value)
                                             : std::abs(static_cast<double>(value) - reference) <= c.trial.tolerance;
    if (!equal && ++wrong <= 5) ADD_FAILURE() << "element " << i << ": " << value << " instead of " << reference;
  }
  EXPECT_EQ(wrong, 0) << c.rows << "x" << c.depth << "x" << c.columns;
}

template <class A, class B, class Output, bool b_is_packed>
void check_one(const Case& c) {
  Matrices<A> a(c.batch, c.rows, c.depth, c.a_transposed, c.a_broadcast);
  Matrices<B> b(c.batch, c.depth, c.columns, c.b_transposed, b_is_packed ? 15 : c.b_broadcast);
  Matrices<Output> output(c.batch, c.rows, c.columns, false, 0), expected(output), residual(output);
  std::vector<float> bias(static_cast<size_t>(c.columns));
  a.fill(c.trial, 1);
  b.fill(c.trial, 2);
  residual.fill(c.trial, 3);
  c.trial.fill(bias, 4);
  const MatrixTestEpilogue<Output> epilogue{bias.data(), residual.storage.data()};

  expected.for_each_batch([&](const int64_t(&batch)[4]) {
    for (int64_t row = 0; row < c.rows; ++row)
      for (int64_t column = 0; column < c.columns; ++column) {
        double sum = bias[static_cast<size_t>(column)] + static_cast<double>(residual.at(batch, row, column)) +
                     static_cast<double>(batch[0] * 11 + batch[1] * 7 + batch[2] * 5 + batch[3] * 3 + row);
        for (int64_t k = 0; k < c.depth; ++k)
          sum += static_cast<double>(a.at(batch, row, k)) * static_cast<double>(b.at(batch, k, column));
        expected.at(batch, row, column) = Output(static_cast<float>(sum));
      }
  });

  const MatmulSizes sizes{{c.batch[0], c.batch[1], c.batch[2], c.batch[3]}, c.rows, c.columns, c.depth};
  std::vector<float> packed;
  if constexpr (b_is_packed) {
    const std::vector<float> values(b.storage.begin(), b.storage.end());
    packed = pack_matrix<float>({c.depth, c.columns, lanes}, values, b.view.row_stride, b.view.column_stride);
  }
  using Kernel = MatrixProduct<A, B, Output, MatrixTestEpilogue<Output>, b_is_packed>;
  const B* operand = b.storage.data();
  if constexpr (b_is_packed) operand = packed.data();
  run_tasks_backwards<Kernel>({a.storage.data(), operand, output.storage.data(), sizes, a.view, b.view, output.view},
                              epilogue);
  expect_equal(c, expected, output);
}

void check(const Case& c) {
  check_one<float, float, float, false>(c);
  check_one<float, float, float, true>(c);
}

TEST(ISA_SUITE(MatrixProduct), EveryNumberOfRowsAndColumnsAroundTheTile) {
  for (int64_t rows = 1; rows <= 26; ++rows) check({.rows = rows, .depth = 5, .columns = 2 * lanes + 3});
  for (int64_t columns = 1; columns <= 4 * lanes + 1; ++columns) check({.rows = 7, .depth = 3, .columns = columns});
  for (int64_t columns = 1; columns <= 4 * lanes + 1; ++columns) check({.rows = 1, .depth = 6, .columns = columns});
}

TEST(ISA_SUITE(MatrixProduct), EveryDepthAroundTheUnrolling) {
  for (int64_t depth = 0; depth <= 2 * lanes + 1; ++depth)
    for (int64_t rows : {1, 3, 13})
      for (bool transposed : {false, true})
        check({.rows = rows, .depth = depth, .columns = lanes + 5, .b_transposed = transposed});
}

TEST(ISA_SUITE(MatrixProduct), DepthInBlocksKeepsPartialSums) {
  const MatmulSizes sizes{{1, 1, 1, 1}, 29, 5 * lanes + 1, 1000};
  ASSERT_GT(matmul_geometry(lanes, sizes, true).depth_blocks, 1);
  for (bool transposed : {false, true})
    check({.rows = 29, .depth = 1000, .columns = 5 * lanes + 1, .b_transposed = transposed});
  check({.rows = 1, .depth = 20000, .columns = lanes + 1});
}

TEST(ISA_SUITE(MatrixProduct), ManyBlocksOfRowsAndColumns) {
  const MatmulSizes sizes{{1, 1, 1, 1}, 701, 20 * lanes + 7, 19};
  const MatmulGeometry geometry = matmul_geometry(lanes, sizes, true);
  ASSERT_GT(geometry.row_blocks, 1);
  ASSERT_GT(geometry.column_blocks, 1);
  check({.rows = 701, .depth = 19, .columns = 20 * lanes + 7});
}

TEST(ISA_SUITE(MatrixProduct), TransposedOperands) {
  for (bool a_transposed : {false, true})
    for (bool b_transposed : {false, true})
      check({.rows = 31,
             .depth = 2 * lanes + 5,
             .columns = 3 * lanes + 2,
             .a_transposed = a_transposed,
             .b_transposed = b_transposed});
}

TEST(ISA_SUITE(MatrixProduct), OperandsWithoutAContiguousAxis) {
  // Every second element of rows and columns.
  const MatmulSizes sizes{{1, 1, 1, 1}, 5, lanes + 3, 9};
  std::vector<float> a(5 * 2 * 18), b(9 * 2 * 2 * (lanes + 3)), output(5 * (lanes + 3));
  fill_with_integers(a, 1);
  fill_with_integers(b, 2);
  using Kernel = MatrixProduct<float, float, float, NoMatrixEpilogue, false>;
  const int64_t b_row = 4 * (lanes + 3);
  run_tasks_backwards<Kernel>(
      {a.data(), b.data(), output.data(), sizes, {{}, 36, 2}, {{}, b_row, 2}, {{}, lanes + 3, 1}}, NoMatrixEpilogue{});
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t column = 0; column < lanes + 3; ++column) {
      float sum = 0.0f;
      for (int64_t k = 0; k < 9; ++k) sum += a[row * 36 + k * 2] * b[k * b_row + column * 2];
      EXPECT_EQ(output[row * (lanes + 3) + column], sum);
    }
}

TEST(ISA_SUITE(MatrixProduct), BatchesWithBroadcasting) {
  const Case plain{.batch = {2, 3, 1, 2}, .rows = 4, .depth = 5, .columns = lanes + 1};
  for (int a_broadcast : {0, 1, 2, 8, 11})
    for (int b_broadcast : {0, 1, 2, 8, 15}) {
      Case c = plain;
      c.a_broadcast = a_broadcast;
      c.b_broadcast = b_broadcast;
      check_one<float, float, float, false>(c);
    }
  check_one<float, float, float, true>(plain);
}

TEST(ISA_SUITE(MatrixProduct), HalfTypesAreComputedInFloat) {
  const Case c{.batch = {1, 1, 1, 2}, .rows = 14, .depth = 37, .columns = 2 * lanes + 5};
  check_one<float16_t, bfloat16_t, float, false>(c);
  check_one<bfloat16_t, float16_t, float16_t, false>(c);  // integers up to 2048 are exact
  Case transposed = c;
  transposed.a_transposed = transposed.b_transposed = true;
  check_one<float16_t, float16_t, float, false>(transposed);
}

TEST(ISA_SUITE(MatrixProduct), PackedHalfTypes) {
  constexpr int64_t rows = 3, depth = 11, columns = 3 * lanes + 1;
  std::vector<float> a(rows * depth), b(depth * columns), output(rows * columns);
  fill_with_integers(a, 1);
  fill_with_integers(b, 2);
  std::vector<uint16_t> bits(b.size());
  for (size_t i = 0; i < b.size(); ++i) bits[i] = bfloat16_t(b[i]).bits;
  const std::vector<uint16_t> packed = pack_matrix<uint16_t>({depth, columns, lanes}, bits, columns, 1);
  std::vector<bfloat16_t> elements(packed.size());
  std::memcpy(static_cast<void*>(elements.data()), packed.data(), packed.size() * sizeof(uint16_t));
  using Kernel = MatrixProduct<float, bfloat16_t, float, NoMatrixEpilogue, true>;
  run_tasks_backwards<Kernel>({a.data(),
                               elements.data(),
                               output.data(),
                               {{1, 1, 1, 1}, rows, columns, depth},
                               {{}, depth, 1},
                               {},
                               {{}, columns, 1}},
                              NoMatrixEpilogue{});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float sum = 0.0f;
      for (int64_t k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * columns + column];
      EXPECT_EQ(output[row * columns + column], sum);
    }
}

TEST(ISA_SUITE(MatrixProduct), RandomValuesStayWithinTheBoundOfASum) {
  // 700 products of normals: rounding of a float sum is far below 700 * 2^-24 * sqrt(700).
  Case c{.rows = 37, .depth = 700, .columns = 3 * lanes};
  c.trial = {.fill = fill_with_normals, .tolerance = 1.2e-4};
  check(c);
  c.rows = 1;
  check(c);
}

// Equal rows: each sum is that of the first row of two, to the bit.
TEST(ISA_SUITE(MatrixProduct), ARowIsTheSameWhereverItStands) {
  constexpr int64_t columns = 2 * lanes + 3;
  using Kernel = MatrixProduct<float, float, float, NoMatrixEpilogue, false>;
  for (int64_t depth : {37, 700}) {
    std::vector<float> row(static_cast<size_t>(depth)), b(static_cast<size_t>(depth * columns)), first;
    fill_with_normals(row, 1);
    fill_with_normals(b, 2);
    for (int64_t rows : {2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 29, 57, 85, 113, 577, 701}) {
      std::vector<float> a, output(static_cast<size_t>(rows * columns));
      for (int64_t i = 0; i < rows; ++i) a.insert(a.end(), row.begin(), row.end());
      const MatmulSizes sizes{{1, 1, 1, 1}, rows, columns, depth};
      run_tasks_backwards<Kernel>(
          {a.data(), b.data(), output.data(), sizes, {{}, depth, 1}, {{}, columns, 1}, {{}, columns, 1}},
          NoMatrixEpilogue{});
      if (first.empty()) first.assign(output.begin(), output.begin() + columns);
      for (int64_t i = 0; i < rows; ++i)
        ASSERT_EQ(std::memcmp(output.data() + i * columns, first.data(), first.size() * sizeof(float)), 0)
            << "row " << i << " of " << rows << ", depth " << depth;
    }
  }
}

TEST(ISA_SUITE(MatrixProduct), NothingToDo) {
  EXPECT_EQ(matmul_geometry(lanes, {{1, 1, 1, 0}, 3, 4, 5}, true).work.tasks, 0);
  EXPECT_EQ(matmul_geometry(lanes, {{1, 1, 1, 1}, 0, 4, 5}, true).work.tasks, 0);
  EXPECT_EQ(matmul_geometry(lanes, {{1, 1, 1, 1}, 3, 0, 5}, false).work.tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
