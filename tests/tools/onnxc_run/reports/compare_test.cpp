#include "onnxc_run/reports/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "onnxc_run/reports/statistics.h"
#include "onnxc_run/reports/trace.h"

namespace onnxc {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor reals(std::vector<float> values) {
  int64_t size = static_cast<int64_t>(values.size());
  return Tensor::of<float>(DType::float32, {1, size}, values);
}

TEST(Compare, NamesTheWorstElement) {
  Comparison result = compare(reals({1, 2, 3, 4}), reals({1, 2.5, 3, 3}), {.relative = 0.1, .absolute = 0}, false);
  EXPECT_FALSE(result.equal);
  EXPECT_EQ(result.different, 2);
  EXPECT_EQ(result.worst, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(describe("output 'y'", result),
            "output 'y': 2 of 4 elements differ; worst at [0, 3]: 4, expected 3 (largest difference 1, 0.333 of "
            "the largest magnitude 3)");
}

TEST(Compare, AddsBothTolerances) {
  // |1.5 - 1| is exactly 0.25 + 0.25 * 1.
  EXPECT_TRUE(compare(reals({1.5}), reals({1}), {.relative = 0.25, .absolute = 0.25}, false).equal);
  EXPECT_FALSE(compare(reals({1.5}), reals({1}), {.relative = 0.25, .absolute = 0.2499}, false).equal);
  EXPECT_FALSE(compare(reals({1.5}), reals({1}), {.relative = 0.2499, .absolute = 0.25}, false).equal);
}

TEST(Compare, NeverTakesNotANumberAsEqualUnlessAsked) {
  const float nan = NAN, inf = INFINITY;
  for (auto [a, b] : {std::pair{nan, nan}, {inf, inf}, {-inf, -inf}}) {
    EXPECT_FALSE(compare(reals({a}), reals({b}), {1, 1}, false).equal);
    EXPECT_TRUE(compare(reals({a}), reals({b}), {1, 1}, true).equal);
  }
  for (auto [a, b] : {std::pair{nan, 1.f}, {1.f, nan}, {inf, -inf}, {inf, 1.f}, {1.f, inf}, {nan, inf}})
    EXPECT_FALSE(compare(reals({a}), reals({b}), {infinity, infinity}, true).equal) << a << " " << b;
}

TEST(Compare, CountsWhatIsNotANumberInBoth) {
  const Comparison result = compare(reals({1, NAN, NAN}), reals({1, NAN, 2}), {0, 0}, true);
  EXPECT_EQ(result.nan_in_both, 1);
  EXPECT_EQ(result.different, 1);
  EXPECT_EQ(describe("t", compare(reals({4, NAN}), reals({4, NAN}), {0, 0}, true)),
            "t: equal (largest difference 0, 0 of the largest magnitude 4, 1 NaN in both)");
}

TEST(Compare, TellsLargeIntegersApart) {
  auto integer = [](int64_t value) { return Tensor::of<int64_t>(DType::int64, {1}, {value}); };
  EXPECT_FALSE(compare(integer((int64_t{1} << 60) + 1), integer(int64_t{1} << 60), {0, 0}, false).equal);
  EXPECT_TRUE(compare(integer(7), integer(7), {0, 0}, false).equal);
}

TEST(Compare, RefusesOtherTypesAndDims) {
  EXPECT_EQ(compare(reals({1}), reals({1, 2}), {1, 1}, false).reason, "dims 1x1, expected 1x2");
  EXPECT_EQ(compare(Tensor::zeros(DType::int8, {1, 1}), reals({1}), {1, 1}, false).reason,
            "dtype int8, expected float32");
  EXPECT_TRUE(compare(reals({}), reals({}), {0, 0}, false).equal);
}

TEST(Compare, ChoosesTolerances) {
  ToleranceOptions options;
  EXPECT_EQ(tolerance_for(options, "y", DType::float32).relative, 1e-4);
  EXPECT_EQ(tolerance_for(options, "y", DType::float16).absolute, 1e-2);
  EXPECT_EQ(tolerance_for(options, "y", DType::int32).absolute, 0);
  options.relative = 0.5;
  options.relative_by_name["y"] = 0.25;
  EXPECT_EQ(tolerance_for(options, "y", DType::float32).relative, 0.25);
  EXPECT_EQ(tolerance_for(options, "z", DType::float32).relative, 0.5);
  EXPECT_EQ(tolerance_for(options, "z", DType::float32).absolute, 1e-5);
}

TEST(Statistics, AreThoseOfTheSamples) {
  Statistics result = summarize({4, 1, 3, 2, 5});
  EXPECT_EQ(result.minimum, 1);
  EXPECT_EQ(result.maximum, 5);
  EXPECT_EQ(result.mean, 3);
  EXPECT_EQ(result.median, 3);
  EXPECT_DOUBLE_EQ(result.p90, 4.6);
  EXPECT_EQ(summarize({7}).p99, 7);
}

TEST(Statistics, NoticeDriftAndNoise) {
  EXPECT_TRUE(summarize(std::vector<double>(20, 1.0)).stable);
  std::vector<double> drifting, noisy;
  for (int i = 0; i < 20; ++i) {
    drifting.push_back(i < 10 ? 1 : 1.3);
    noisy.push_back(i % 2 == 0 ? 1 : 1.5);
  }
  EXPECT_FALSE(summarize(drifting).stable);
  EXPECT_FALSE(summarize(noisy).stable);
}

TEST(Trace, SummarizesFiniteElements) {
  TensorSummary summary = summarize_tensor(reals({1, NAN, -3, INFINITY, -INFINITY, 5}));
  ASSERT_TRUE(summary.range.has_value());
  EXPECT_EQ(summary.range->minimum, -3);
  EXPECT_EQ(summary.range->maximum, 5);
  EXPECT_EQ(summary.range->mean, 1);
  EXPECT_EQ(summary.nan, 1);
  EXPECT_EQ(summary.infinite, 2);
}

TEST(Trace, HasNoRangeIfNothingIsFinite) {
  for (const Tensor& tensor : {reals({NAN, NAN}), reals({INFINITY}), reals({})})
    EXPECT_FALSE(summarize_tensor(tensor).range.has_value());
}

}  // namespace
}  // namespace onnxc
