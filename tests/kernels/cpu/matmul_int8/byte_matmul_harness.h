// The shared parts of the tests of products of bytes: a product with gaps after its rows, compared with the
// definition's exact sums.
#pragma once

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/matmul_int8/matmul_int8.h"

namespace onnxc::kernels {

// Adds integers that only the right position gives; reads no lane past `count`.
struct IntegerPositionOfMatrix {
  const int32_t* bias;
  vec_int32 operator()(vec_int32 sum, const MatrixPosition& p) const {
    const auto place = static_cast<int32_t>(p.batch[2] * 5 + p.batch[3] * 3 + p.row);
    return sum + load_partial(bias + p.column, p.count) + splat(place);
  }
};

struct ByteSizes {
  int64_t outer = 1, inner = 1;  // axes of the batch
  int64_t rows, depth, columns;
};

// Rows of both matrices have gaps after them, which nobody may read for a number or write.
inline constexpr int64_t byte_gap = 3;
inline constexpr int32_t untouched_sum = 77;

// `pack` gives the kernel's weights from int8, [columns, depth].
template <class Kernel, class A, class Pack>
void check_byte_product(const ByteSizes& sizes, A zero_point, const Pack& pack) {
  const auto [outer, inner, rows, depth, columns] = sizes;
  std::vector<float> values(static_cast<size_t>(outer * inner * rows * (depth + byte_gap))), matrix;
  matrix.resize(static_cast<size_t>(columns * depth));
  fill_with_bytes<A>(values, 1);
  fill_with_bytes<int8_t>(matrix, 2);
  const std::vector<A> a(values.begin(), values.end());
  std::vector<int32_t> bias(static_cast<size_t>(columns));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<int32_t>(i * i);
  const std::vector<uint8_t> packed = pack(std::vector<int8_t>(matrix.begin(), matrix.end()));
  const std::unique_ptr<void, AlignedFree> b = nan_scratch(std::ssize(packed));
  std::memcpy(b.get(), packed.data(), packed.size());

  const int64_t distance = columns + byte_gap, row_distance = depth + byte_gap;
  std::vector<int32_t> output(static_cast<size_t>(outer * inner * rows * distance), untouched_sum), expected = output;
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
  run_tasks_backwards<Kernel>({a.data(),
                               static_cast<const uint8_t*>(b.get()),
                               output.data(),
                               {{1, 1, outer, inner}, rows, columns, depth},
                               a_view,
                               output_view,
                               zero_point},
                              IntegerPositionOfMatrix{bias.data()});
  EXPECT_EQ(output, expected) << rows << "x" << depth << "x" << columns;
}

}  // namespace onnxc::kernels
