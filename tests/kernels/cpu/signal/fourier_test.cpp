#include "kernels/cpu/signal/fourier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

struct Direction {
  bool is_inverse = false, gives_real = false;
};

FourierSizes sizes_of(int64_t outer, int64_t length, int64_t inner, int64_t parts) {
  return {outer, length, inner, parts, length, length};
}

// Each task on its own, last first, in scratch and output of NaN; what surrounds the output must stay as it was.
template <class T>
std::vector<T> transformed(const std::vector<T>& input, const FourierSizes& sizes, Direction direction) {
  const int64_t count = sizes.outer * sizes.bins * sizes.inner * (direction.gives_real ? 1 : 2);
  std::vector<T> output(static_cast<size_t>(count) + 2, std::numeric_limits<T>::quiet_NaN());
  output.front() = output.back() = T(-7);
  const FourierArguments<T> arguments{input.data(), output.data() + 1, sizes, direction.is_inverse,
                                      direction.gives_real};
  const KernelWork work = Fourier<T>::work(sizes);
  const auto bytes = static_cast<size_t>(round_up(work.scratch_bytes, 64));
  void* const scratch = std::aligned_alloc(64, bytes + 64);
  for (int64_t task = work.tasks; task-- > 0;) {
    std::fill_n(static_cast<unsigned char*>(scratch), bytes + 64, 0xff);
    Fourier<T>::run(arguments, task, task + 1, scratch);
    EXPECT_EQ(static_cast<unsigned char*>(scratch)[bytes], 0xff) << "written behind the scratch";
  }
  std::free(scratch);
  EXPECT_EQ(output.front(), T(-7));
  EXPECT_EQ(output.back(), T(-7));
  return {output.begin() + 1, output.end() - 1};
}

// The definition, in long double.
template <class T>
std::vector<double> reference(const std::vector<T>& input, const FourierSizes& sizes, Direction direction) {
  using Number = std::complex<long double>;
  const auto root = [&](int64_t turn) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(turn % sizes.length) /
                              static_cast<long double>(sizes.length);
    return Number(std::cos(angle), direction.is_inverse ? std::sin(angle) : -std::sin(angle));
  };
  const int64_t half = sizes.length / 2 + 1;
  const int64_t used = std::min(sizes.extent, direction.gives_real ? half : sizes.length);
  std::vector<Number> roots;
  for (int64_t i = 0; i < sizes.length; ++i) roots.push_back(root(i));
  std::vector<double> output;
  for (int64_t outer = 0; outer < sizes.outer; ++outer)
    for (int64_t k = 0; k < sizes.bins; ++k)
      for (int64_t inner = 0; inner < sizes.inner; ++inner) {
        Number sum = 0;
        for (int64_t n = 0; n < used; ++n) {
          const auto at = static_cast<size_t>(((outer * sizes.extent + n) * sizes.inner + inner) * sizes.parts);
          const Number x(static_cast<long double>(input[at]),
                         sizes.parts == 2 ? static_cast<long double>(input[at + 1]) : 0.0L);
          const Number term = x * roots[static_cast<size_t>(n * k % sizes.length)];
          const bool is_twice = direction.gives_real && n != 0 && 2 * n != sizes.length;
          sum += is_twice ? Number(2 * term.real(), 0) : term;
        }
        if (direction.is_inverse) sum /= static_cast<long double>(sizes.length);
        output.push_back(static_cast<double>(sum.real()));
        if (!direction.gives_real) output.push_back(static_cast<double>(sum.imag()));
      }
  return output;
}

template <class T>
std::vector<T> drawn(const FourierSizes& sizes) {
  std::mt19937 generator(5);
  std::normal_distribution<double> normal;
  std::vector<T> input(static_cast<size_t>(sizes.outer * sizes.extent * sizes.inner * sizes.parts));
  for (T& value : input) value = static_cast<T>(normal(generator));
  return input;
}

// Within `bound` of the norm of a line of so many elements, which is what the sum of their errors grows with.
template <class T>
void check(const FourierSizes& sizes, Direction direction, double bound) {
  SCOPED_TRACE(testing::Message() << sizes.outer << "x" << sizes.extent << "x" << sizes.inner << "x" << sizes.parts
                                  << ", length " << sizes.length << ", bins " << sizes.bins
                                  << (direction.is_inverse ? ", inverse" : "")
                                  << (direction.gives_real ? ", real" : ""));
  const std::vector<T> input = drawn<T>(sizes);
  const std::vector<T> got = transformed(input, sizes, direction);
  const std::vector<double> wanted = reference(input, sizes, direction);
  ASSERT_EQ(got.size(), wanted.size());
  const double length = static_cast<double>(sizes.length);
  const double norm = std::sqrt(length) / (direction.is_inverse ? length : 1.0);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], bound * norm) << "at " << i;
}

TEST(ISA_SUITE(Fourier), LengthsOfPasses) {
  for (int64_t length = 1; length <= 3000; ++length) {
    int64_t wanted = length;
    if (!has_fast_passes(length))
      for (wanted = 2 * length - 1; !has_fast_passes(wanted);) ++wanted;
    EXPECT_EQ(passes_length(length), wanted) << length;
  }
  constexpr int64_t longest = int64_t{1} << 40;
  EXPECT_GE(passes_length(longest - 1), 2 * longest - 3);
  EXPECT_EQ(fourier_geometry(8, {0, 4, 1, 1, longest, 4}).work.tasks, 0);
}

constexpr double double_bound = 4e-15, float_bound = 4e-7;

TEST(ISA_SUITE(Fourier), EveryLength) {
  for (int64_t length = 1; length <= 130; ++length) {
    check<double>(sizes_of(1, length, 1, 2), {}, double_bound);                                            // one line
    check<double>(sizes_of(fourier::double_lanes + 1, length, 1, 1), {.is_inverse = true}, double_bound);  // a vector
  }
  for (const int64_t length : {243, 256, 257, 360, 499, 512, 625, 1000, 1024, 1001})
    check<float>(sizes_of(3, length, 2, 2), {}, float_bound);
}

TEST(ISA_SUITE(Fourier), LinesAlongAnyAxisAndTasks) {
  for (const int64_t outer : {1, 3})
    for (const int64_t inner : {1, 2, 7, 8, 9, 40})
      for (const int64_t length : {12, 13}) check<float>(sizes_of(outer, length, inner, 2), {}, float_bound);
  check<float>(sizes_of(3000, 8, 1, 1), {}, float_bound);
  check<float>(sizes_of(70, 500, 1, 1), {}, float_bound);
  // Too long to stand side by side.
  const FourierSizes sizes{9, 2, 1, 2, 20000, 3};
  EXPECT_EQ(fourier_geometry(fourier::double_lanes, sizes).side_by_side, 1);
  check<float>(sizes, {}, float_bound);
  check<float>({2, 3, 1, 1, 20011, 2}, {}, float_bound);
}

TEST(ISA_SUITE(Fourier), PaddedCroppedAndFirstBins) {
  for (const int64_t length : {1, 2, 5, 8, 11})
    for (const int64_t extent : {1, 4, 20})
      for (const int64_t bins : {int64_t{0}, length / 2 + 1, length}) {
        check<float>({2, extent, 3, 1, length, bins}, {}, float_bound);
        check<float>({2, extent, 3, 2, length, bins}, {.is_inverse = true}, float_bound);
      }
}

TEST(ISA_SUITE(Fourier), BackToRealSignals) {
  for (const int64_t length : {1, 2, 3, 8, 9, 14, 97})
    for (const int64_t extent : {int64_t{1}, length / 2 + 1, length / 2 + 4})
      for (const int64_t parts : {1, 2}) check<float>({2, extent, 5, parts, length, length}, {true, true}, float_bound);
}

// Impulses and constants have results without a rounding, at any length of 2 to 5 elements a pass.
TEST(ISA_SUITE(Fourier), ImpulsesAndConstants) {
  for (const int64_t length : {1, 2, 3, 4, 5, 7, 8, 60, 64, 97, 128}) {
    const FourierSizes sizes = sizes_of(1, length, 1, 1);
    std::vector<float> input(static_cast<size_t>(length), 0.0f);
    input[0] = 3.0f;
    const std::vector<float> flat = transformed(input, sizes, {});
    for (size_t k = 0; k < static_cast<size_t>(length); ++k) {
      EXPECT_EQ(flat[2 * k], 3.0f) << length << " at " << k;
      EXPECT_NEAR(flat[2 * k + 1], 0.0f, 1e-14f) << length << " at " << k;
    }
    std::fill(input.begin(), input.end(), 2.0f);
    const std::vector<float> peak = transformed(input, sizes, {});
    EXPECT_EQ(peak[0], 2.0f * static_cast<float>(length));
    for (size_t k = 1; k < static_cast<size_t>(length); ++k) EXPECT_NEAR(peak[2 * k], 0.0f, 1e-11f) << length;
  }
}

TEST(ISA_SUITE(Fourier), IntegersOfFourAndTwoAreExact) {
  const std::vector<double> got = transformed<double>({1, 2, 3, 4, -5, 6, 7, 0}, sizes_of(1, 4, 1, 2), {});
  // (1 + 2i, 3 + 4i, -5 + 6i, 7 + 0i)
  EXPECT_EQ(got, (std::vector<double>{6, 12, 10, 0, -14, 4, 2, -8}));
}

TEST(ISA_SUITE(Fourier), EveryType) {
  const FourierSizes sizes{3, 20, 5, 2, 20, 20};
  check<double>(sizes, {}, double_bound);
  const std::vector<float> wide = drawn<float>(sizes);
  const std::vector<float16_t> half(wide.begin(), wide.end());
  const std::vector<float16_t> got = transformed(half, sizes, {});
  const std::vector<double> wanted = reference(half, sizes, {});
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(static_cast<double>(got[i]), wanted[i], 0x1p-11 * std::abs(wanted[i]) + 1e-7) << i;
}

}  // namespace
}  // namespace onnxc::kernels
