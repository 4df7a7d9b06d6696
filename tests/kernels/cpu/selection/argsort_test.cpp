#include "kernels/cpu/selection/argsort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Each task on its own, last first, in scratch that is full of ones; what surrounds the output must stay as it was.
template <bool descending, class T>
std::vector<int64_t> argsort(const std::vector<T>& input, const ArgsortSizes& sizes) {
  std::vector<int64_t> output(static_cast<size_t>(sizes.outer * sizes.count * sizes.inner) + 2, -7);
  const ArgsortArguments<T> arguments{input.data(), output.data() + 1, sizes};
  using Kernel = Argsort<T, descending>;
  const KernelWork work = Kernel::work(sizes);
  const auto bytes = static_cast<size_t>(round_up(work.scratch_bytes, 64));
  void* const scratch = std::aligned_alloc(64, bytes + 64);
  for (int64_t task = work.tasks; task-- > 0;) {
    std::fill_n(static_cast<unsigned char*>(scratch), bytes + 64, 0xff);
    Kernel::run(arguments, task, task + 1, scratch);
    EXPECT_EQ(static_cast<unsigned char*>(scratch)[bytes], 0xff) << "written behind the scratch";
  }
  std::free(scratch);
  EXPECT_EQ(output.front(), -7);
  EXPECT_EQ(output.back(), -7);
  return {output.begin() + 1, output.end() - 1};
}

// By sorting each line, in which NaN is the largest, and of equal elements the first comes first.
template <bool descending, class T>
std::vector<int64_t> reference(const std::vector<T>& input, const ArgsortSizes& sizes) {
  const auto is_nan = [](T value) { return value != value; };
  const auto less = [&](T a, T b) { return is_nan(b) ? !is_nan(a) : a < b; };
  std::vector<int64_t> output(static_cast<size_t>(sizes.outer * sizes.count * sizes.inner));
  for (int64_t outer = 0; outer < sizes.outer; ++outer)
    for (int64_t inner = 0; inner < sizes.inner; ++inner) {
      const auto element = [&](int64_t i) {
        return input[static_cast<size_t>((outer * sizes.extent + i) * sizes.inner + inner)];
      };
      std::vector<int64_t> line(static_cast<size_t>(sizes.extent));
      std::iota(line.begin(), line.end(), 0);
      const auto stands_before = [&](int64_t a, int64_t b) {
        return descending ? less(element(b), element(a)) : less(element(a), element(b));
      };
      std::sort(line.begin(), line.end(),
                [&](int64_t a, int64_t b) { return stands_before(a, b) || (!stands_before(b, a) && a < b); });
      for (int64_t rank = 0; rank < sizes.count; ++rank)
        output[static_cast<size_t>((outer * sizes.count + rank) * sizes.inner + inner)] =
            line[static_cast<size_t>(rank)];
    }
  return output;
}

template <class T>
void check(const std::vector<T>& input, const ArgsortSizes& sizes) {
  SCOPED_TRACE(testing::Message() << sizes.outer << "x" << sizes.extent << "x" << sizes.inner << ", first "
                                  << sizes.count);
  EXPECT_EQ((argsort<false>(input, sizes)), (reference<false>(input, sizes)));
  EXPECT_EQ((argsort<true>(input, sizes)), (reference<true>(input, sizes)));
}

// `values`: how many different ones, so that few make many equal elements.
template <class T>
std::vector<T> drawn(const ArgsortSizes& sizes, int values) {
  std::mt19937 generator(3);
  const int least = std::is_unsigned_v<T> ? 0 : -values / 2;
  std::uniform_int_distribution<int> pick(least, least + values);
  std::vector<T> input(static_cast<size_t>(sizes.outer * sizes.extent * sizes.inner));
  for (T& value : input) value = static_cast<T>(static_cast<float>(pick(generator)));
  return input;
}

TEST(ISA_SUITE(Argsort), CountsAndExtentsAroundTheChunkAndTheRadixSort) {
  for (const int64_t extent : {1, 2, 31, 255, 256, 257, 511, 512, 513, 1100})
    for (const int64_t count : {int64_t{0}, int64_t{1}, extent / 3, extent - 1, extent})
      for (const int values : {3, 100000}) {
        const ArgsortSizes sizes{2, extent, 1, count};
        check(drawn<float>(sizes, values), sizes);
      }
}

TEST(ISA_SUITE(Argsort), LinesAlongAnyAxis) {
  for (const int64_t inner : {1, 2, 15, 16, 17, 50}) {
    for (const ArgsortSizes sizes : {ArgsortSizes{3, 70, inner, 5}, ArgsortSizes{2, 300, inner, 300}})
      check(drawn<float>(sizes, 40), sizes);
    const ArgsortSizes long_lines{1, 3000, inner, 3000};  // fewer lines a task than stand side by side
    check(drawn<float>(long_lines, 1000), long_lines);
  }
}

TEST(ISA_SUITE(Argsort), LinesThatComeInOrderOrAgainstIt) {
  const ArgsortSizes sizes{1, 5000, 1, 20};
  std::vector<float> input(5000);
  std::iota(input.begin(), input.end(), -2000.0f);
  check(input, sizes);
  std::reverse(input.begin(), input.end());
  check(input, sizes);
}

TEST(ISA_SUITE(Argsort), SpecialValues) {
  constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> few{0.0f, -0.0f, nan, infinite, -infinite, 1e-42f, -1e-42f, -nan, 1.0f, -0.0f, infinite};
  for (const int64_t count : {3, 11}) check(few, {1, 11, 1, count});
  std::vector<float> many;
  for (int i = 0; i < 60; ++i) many.insert(many.end(), few.begin(), few.end());
  for (const int64_t count : {30, 300, 660}) check(many, {1, 660, 1, count});
  const std::vector<double> wide(many.begin(), many.end());
  for (const int64_t count : {30, 660}) check(wide, {1, 660, 1, count});
}

template <class T>
void check_type() {
  constexpr T lowest = std::numeric_limits<T>::lowest(), largest = std::numeric_limits<T>::max();
  const ArgsortSizes sizes{1, 700, 1, 700}, first{1, 700, 1, 9};
  std::vector<T> input = drawn<T>(sizes, 100);
  input[5] = input[300] = lowest;
  input[7] = input[400] = largest;
  check(input, sizes);
  check(input, first);
}

TEST(ISA_SUITE(Argsort), EveryType) {
  check_type<float>();
  check_type<double>();
  check_type<int8_t>();
  check_type<uint8_t>();
  check_type<int16_t>();
  check_type<uint16_t>();
  check_type<int32_t>();
  check_type<uint32_t>();
  check_type<int64_t>();
  check_type<uint64_t>();
  const ArgsortSizes sizes{2, 600, 3, 600}, first{2, 600, 3, 40};
  for (const ArgsortSizes& each : {sizes, first}) {
    const std::vector<float> values = drawn<float>(each, 60);
    check(std::vector<float16_t>(values.begin(), values.end()), each);
    check(std::vector<bfloat16_t>(values.begin(), values.end()), each);
  }
}

}  // namespace
}  // namespace onnxc::kernels
