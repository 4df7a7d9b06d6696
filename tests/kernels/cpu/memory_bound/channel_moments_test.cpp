#include "kernels/cpu/memory_bound/channel_moments.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

struct Expected {
  std::vector<double> mean, variance;  // [batch][group]
};

// The definition, in double.
Expected reference_moments(const MomentsSizes& sizes, const PlainTensor& input) {
  Expected expected;
  const int64_t count = sizes.group_channels() * sizes.size.product();
  for (int64_t group = 0; group < sizes.batch * sizes.groups; ++group) {
    const float* values = input.values.data() + group * count;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]);
    const double mean = sum / static_cast<double>(count);
    for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    expected.mean.push_back(mean);
    expected.variance.push_back(squares / static_cast<double>(count));
  }
  return expected;
}

// The tasks of both kernels one by one, last first; every buffer holds NaN before.
template <class Input>
std::vector<float> computed_moments(const MomentsSizes& sizes, const PlainTensor& input) {
  BlockedTensor<Input> blocked(sizes.batch, sizes.channels, sizes.size);
  blocked.fill_from(input);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> partial(static_cast<size_t>(partial_moments_size(sizes, true, lanes)), nan);
  std::vector<float> moments(static_cast<size_t>(3 * sizes.batch * sizes.groups), nan);
  using Partial = PartialMoments<Input, true>;
  for (int64_t task = Partial::work(sizes).tasks - 1; task >= 0; --task)
    Partial::run({blocked.data(), partial.data(), sizes, blocked.view}, task, task + 1, nullptr);
  for (int64_t task = ChannelMoments<lanes>::work(sizes).tasks - 1; task >= 0; --task)
    ChannelMoments<lanes>::run({partial.data(), moments.data(), sizes}, task, task + 1, nullptr);
  return moments;
}

// The same of rows, with gaps between them or without.
template <class Input>
std::vector<float> computed_moments_of_rows(const MomentsSizes& sizes, const PlainTensor& input, int64_t gap) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const int64_t row = sizes.size.w + gap, plane = sizes.size.h * row + gap, channel = sizes.size.d * plane;
  const BlockedView view{sizes.channels * channel, channel, plane, row};
  std::vector<Input> rows(static_cast<size_t>(sizes.batch * view.batch_stride), Input(nan));
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t c = 0; c < sizes.channels; ++c)
      for_each_voxel(sizes.size, [&](int64_t d, int64_t h, int64_t w) {
        rows[static_cast<size_t>((n * sizes.channels + c) * channel + d * plane + h * row + w)] =
            Input(input.at(n, c, d, h, w));
      });
  std::vector<float> partial(static_cast<size_t>(partial_moments_size(sizes, true, 1)), nan);
  std::vector<float> moments(static_cast<size_t>(3 * sizes.batch * sizes.groups), nan);
  using Partial = PartialMomentsOfRows<Input>;
  for (int64_t task = Partial::work(sizes).tasks - 1; task >= 0; --task)
    Partial::run({rows.data(), partial.data(), sizes, view}, task, task + 1, nullptr);
  ChannelMoments<1>::run({partial.data(), moments.data(), sizes}, 0, ChannelMoments<1>::work(sizes).tasks, nullptr);
  return moments;
}

// `bound` is relative to the deviation for means and to the variance for variances.
void compare(const std::vector<float>& moments, const Expected& expected, double bound) {
  const size_t groups = expected.mean.size();
  for (size_t i = 0; i < groups; ++i) {
    const double mean = static_cast<double>(moments[i]) + static_cast<double>(moments[groups + i]);
    EXPECT_NEAR(mean, expected.mean[i], bound * std::sqrt(expected.variance[i])) << i;
    EXPECT_NEAR(moments[2 * groups + i], expected.variance[i], bound * expected.variance[i]) << i;
  }
}

template <class Input = float>
void check(const MomentsSizes& sizes, double offset, double bound) {
  PlainTensor input(sizes.batch, sizes.channels, sizes.size);
  fill_with_normals(input.values, 1);
  for (float& value : input.values) value = static_cast<float>(Input(value + static_cast<float>(offset)));
  const Expected expected = reference_moments(sizes, input);
  compare(computed_moments<Input>(sizes, input), expected, bound);
  compare(computed_moments_of_rows<Input>(sizes, input, 0), expected, bound);
  compare(computed_moments_of_rows<Input>(sizes, input, 5), expected, bound);
}

TEST(ISA_SUITE(ChannelMoments), EveryChannel) {
  check({2, lanes + 3, lanes + 3, {3, 5, 7}}, 0.0, 1e-6);
  check({1, 5, 5, {1, 1, 1}}, 0.0, 1e-6);
  check({1, 2, 2, {5, 21, 40}}, 0.0, 1e-6);  // several chunks, which end within rows
  check({1, 3, 3, {1, 1, 5000}}, 0.0, 1e-6);
  check({1, 2, 2, {5, 91, 93}}, 0.0, 1e-6);  // of rows too
}

TEST(ISA_SUITE(ChannelMoments), GroupsAcrossBlocks) {
  check({2, 3 * lanes, 4, {2, 3, 5}}, 0.0, 1e-6);
  check({1, lanes + 2, 1, {9, 10, 11}}, 0.0, 1e-6);
}

TEST(ISA_SUITE(ChannelMoments), MeanThatIsLargeAgainstTheDeviation) {
  // One digit of float is 2^-9 of the deviation here; the sums lose none besides.
  check({1, lanes, lanes, {5, 20, 30}}, 20000.0, 1e-4);
}

TEST(ISA_SUITE(ChannelMoments), HalfTypes) {
  check<float16_t>({1, lanes, lanes, {3, 5, 7}}, 0.0, 1e-6);
  check<bfloat16_t>({1, lanes, lanes, {3, 5, 7}}, 0.0, 1e-6);
}

TEST(ISA_SUITE(ChannelMoments), NanStaysInItsChannel) {
  const MomentsSizes sizes{1, 2, 2, {1, 2, 3}};
  PlainTensor input(1, 2, sizes.size);
  input.values[1] = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& moments :
       {computed_moments<float>(sizes, input), computed_moments_of_rows<float>(sizes, input, 0)}) {
    EXPECT_TRUE(std::isnan(moments[0]));
    EXPECT_TRUE(std::isnan(moments[4]));
    EXPECT_EQ(moments[1], 0.0f);
    EXPECT_EQ(moments[5], 0.0f);
  }
}

TEST(ISA_SUITE(ChannelMoments), MeanOfChannelsWithEpilogue) {
  const MomentsSizes sizes{2, lanes + 3, lanes + 3, {5, 16, 32}};  // 2560 voxels: integers over 5 * 2^9
  PlainTensor input(sizes.batch, sizes.channels, sizes.size), expected(sizes.batch, sizes.channels, {1, 1, 1}),
      residual(expected);
  std::vector<float> bias(static_cast<size_t>(sizes.channels));
  fill_with_integers(input.values, 1);
  fill_with_integers(bias, 2);
  fill_with_integers(residual.values, 3);
  const std::vector<double> means = reference_moments(sizes, input).mean;
  for (size_t i = 0; i < means.size(); ++i) expected.values[i] = static_cast<float>(means[i]);
  apply_position_epilogue(expected, bias, residual);
  bias.resize(static_cast<size_t>(round_up(sizes.channels, lanes)), std::numeric_limits<float>::quiet_NaN());

  BlockedTensor<float> blocked(sizes.batch, sizes.channels, sizes.size);
  BlockedTensor<float> output(sizes.batch, sizes.channels, {1, 1, 1}), blocked_residual(output);
  blocked.fill_from(input);
  blocked_residual.fill_from(residual);
  std::vector<float> partial(static_cast<size_t>(partial_moments_size(sizes, false, lanes)));
  using Partial = PartialMoments<float, false>;
  Partial::run({blocked.data(), partial.data(), sizes, blocked.view}, 0, Partial::work(sizes).tasks, nullptr);
  using Mean = MeanOfChannels<float, PositionEpilogue<float>>;
  Mean::run({partial.data(), output.data(), sizes, output.view}, {bias.data(), blocked_residual.data()}, 0,
            Mean::work(sizes).tasks, nullptr);
  output.expect_equal(expected, 4 * 0x1p-19);  // roundings of sums below 32, in another order
}

TEST(ISA_SUITE(ChannelMoments), NothingToDo) {
  EXPECT_EQ((PartialMoments<float, true>::work({1, 3, 3, {0, 4, 4}}).tasks), 0);
  EXPECT_EQ((PartialMoments<float, false>::work({0, 3, 3, {4, 4, 4}}).tasks), 0);
  EXPECT_EQ(PartialMomentsOfRows<float>::work({1, 3, 3, {0, 4, 4}}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
