#include "kernels/cpu/memory_bound/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Each task on its own, last first; what surrounds the output must stay as it was.
template <bool takes_logarithm, class T = float>
std::vector<float> softmax(const std::vector<float>& values, int64_t rows, int64_t columns) {
  const std::vector<T> input(values.begin(), values.end());
  std::vector<T> output(values.size() + 2, T(-7.0f));
  const SoftmaxArguments<T, T> arguments{
      input.data(), output.data() + 1, {{1, 1, 1, 1, rows}, columns}, {0, 0, 0, 0, columns}, {0, 0, 0, 0, columns}};
  using Kernel = RowSoftmax<T, T, takes_logarithm>;
  for (int64_t task = Kernel::work(arguments.sizes).tasks; task-- > 0;) Kernel::run(arguments, task, task + 1, nullptr);
  EXPECT_EQ(static_cast<float>(output.front()), -7.0f);
  EXPECT_EQ(static_cast<float>(output.back()), -7.0f);
  return {output.begin() + 1, output.end() - 1};
}

std::vector<double> reference(const std::vector<float>& values, int64_t columns, bool takes_logarithm) {
  std::vector<double> result;
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(columns)) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    const auto row = [&](int64_t i) { return static_cast<double>(values[begin + static_cast<size_t>(i)]); };
    for (int64_t i = 0; i < columns; ++i) largest = std::max(largest, row(i));
    for (int64_t i = 0; i < columns; ++i) sum += std::exp(row(i) - largest);
    for (int64_t i = 0; i < columns; ++i)
      result.push_back(takes_logarithm ? row(i) - largest - std::log(sum) : std::exp(row(i) - largest) / sum);
  }
  return result;
}

std::vector<float> normals(int64_t count) {
  std::mt19937 generator(5);
  std::normal_distribution<float> pick(1.0f, 4.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = pick(generator);
  return values;
}

template <bool takes_logarithm, class T = float>
void check(int64_t rows, int64_t columns, double relative, double absolute = 0.0) {
  std::vector<float> values = normals(rows * columns);
  for (float& value : values) value = static_cast<float>(T(value));
  const std::vector<float> result = softmax<takes_logarithm, T>(values, rows, columns);
  const std::vector<double> expected = reference(values, columns, takes_logarithm);
  for (size_t i = 0; i < result.size(); ++i)
    ASSERT_NEAR(static_cast<double>(result[i]), expected[i], relative * std::abs(expected[i]) + absolute)
        << rows << "x" << columns << " at " << i;
}

// x - largest, up to 40 here, rounds by half a unit in the last place, 2^-19, from which the exponential makes a
// relative error of 32 * 2^-24; the exponential and the quotient add a few units.
constexpr double few_units = 40 * 0x1p-24;

TEST(ISA_SUITE(RowSoftmax), EveryNumberOfColumnsAroundTheVectors) {
  for (int64_t columns = 1; columns <= 10 * lanes + 1; ++columns) {
    check<false>(3, columns, few_units);
    check<true>(3, columns, 4 * 0x1p-24, few_units);
  }
}

TEST(ISA_SUITE(RowSoftmax), ManyTasksAndLongRows) {
  check<false>(257, 343, few_units);
  constexpr int64_t columns = 10007;  // each lane of the partial sums rounds so often
  check<false>(2, columns, few_units + columns / (detail::softmax_sets * lanes) * 0x1p-24);
}

TEST(ISA_SUITE(RowSoftmax), ShortRowsAreTheSameInWhateverCompany) {
  for (const int64_t columns : {int64_t{1}, int64_t{3}, int64_t{lanes - 1}, int64_t{lanes}})
    for (const int64_t rows : {int64_t{lanes - 1}, int64_t{lanes}, int64_t{3 * lanes + 5}, 20'000 / columns}) {
      check<false>(rows, columns, few_units);
      check<true>(rows, columns, 4 * 0x1p-24, few_units);
      const std::vector<float> values = normals(rows * columns), all = softmax<false>(values, rows, columns);
      for (const int64_t row : {int64_t{0}, rows / 2, rows - 1}) {
        const auto begin = row * columns, end = begin + columns;
        EXPECT_EQ(softmax<false>({values.begin() + begin, values.begin() + end}, 1, columns),
                  std::vector<float>(all.begin() + begin, all.begin() + end));
      }
    }
}

TEST(ISA_SUITE(RowSoftmax), HalfTypes) {
  check<false, float16_t>(2 * lanes + 1, 5, 0x1p-11, 0x1p-25);
  check<true, bfloat16_t>(2 * lanes + 1, 5, 0x1p-8);
  check<false, float16_t>(5, 2 * lanes + 3, 0x1p-11, 0x1p-25);
  check<false, bfloat16_t>(5, 2 * lanes + 3, 0x1p-8);
  check<true, float16_t>(5, 2 * lanes + 3, 0x1p-11);
}

TEST(ISA_SUITE(RowSoftmax), LargeValuesDoNotOverflow) {
  const std::vector<float> result = softmax<false>({3e38f, 3e38f, -3e38f}, 1, 3);
  EXPECT_EQ(result, (std::vector<float>{0.5f, 0.5f, 0.0f}));
}

TEST(ISA_SUITE(RowSoftmax), RowsThatAreNotFiniteGiveNanAndLeaveOthersAlone) {
  const std::vector<float> values = {0, -infinite, 0, -infinite, -infinite, -infinite, 1, infinite, 2, 1, nan, 2};
  const std::vector<float> result = softmax<false>(values, 4, 3);
  EXPECT_EQ(result[0], 0.5f);
  EXPECT_EQ(result[1], 0.0f);
  EXPECT_EQ(result[2], 0.5f);
  for (size_t i = 3; i < result.size(); ++i) EXPECT_TRUE(std::isnan(result[i])) << i;
}

// [2, 3, columns] inside [2, 5, columns + 4], to rows in another order.
void check_rows_of_a_part(int64_t columns) {
  const int64_t row = columns + 4;
  const std::vector<float> whole = normals(2 * 5 * row);
  std::vector<float> output(2 * 3 * columns), part;
  const SoftmaxArguments<float, float> arguments{whole.data(),
                                                 output.data(),
                                                 {{1, 1, 2, 1, 3}, columns},
                                                 {0, 0, 5 * row, 0, row},
                                                 {0, 0, columns, 0, 2 * columns}};
  RowSoftmax<float, float, false>::run(arguments, 0, 1, nullptr);
  for (int64_t inner = 0; inner < 3; ++inner)
    for (int64_t outer = 0; outer < 2; ++outer)
      part.insert(part.end(), whole.begin() + (outer * 5 + inner) * row,
                  whole.begin() + (outer * 5 + inner) * row + columns);
  const std::vector<double> expected = reference(part, columns, false);
  for (size_t i = 0; i < output.size(); ++i)
    ASSERT_NEAR(static_cast<double>(output[i]), expected[i], few_units * expected[i]) << i;
}

TEST(ISA_SUITE(RowSoftmax), RowsOfAPartOfATensor) {
  check_rows_of_a_part(lanes + 3);
  check_rows_of_a_part(lanes - 3);
}

TEST(ISA_SUITE(RowSoftmax), NothingToDo) {
  EXPECT_EQ(softmax_geometry({{1, 1, 1, 1, 0}, 5}).work.tasks, 0);
  EXPECT_EQ(softmax_geometry({{1, 1, 1, 1, 5}, 0}).work.tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
