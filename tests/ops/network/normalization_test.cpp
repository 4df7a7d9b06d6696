#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// (x - mean) / sqrt(variance + epsilon) within each group of elements, in double precision; group_of(flat) numbers
// them.
template <class GroupOf>
std::vector<double> standardize(const Tensor& x, const GroupOf& group_of, double epsilon = 1e-5F) {
  std::vector<double> values = numbers(x);
  std::map<size_t, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) groups[group_of(i)].push_back(values[i]);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::vector<double>& group = groups[group_of(i)];
    double mean = 0, variance = 0;
    for (double value : group) mean += value / double(group.size());
    for (double value : group) variance += (value - mean) * (value - mean) / double(group.size());
    values[i] = (values[i] - mean) / std::sqrt(variance + epsilon);
  }
  return values;
}

// values[i] * scale[place(i)] + shift[place(i)]
template <class Place>
std::vector<double> scaled(std::vector<double> values, const Tensor& scale, const Tensor& shift, const Place& place) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = values[i] * scale.as_double()[place(i)] + shift.as_double()[place(i)];
  return values;
}

// A tensor [2, 6, 3, 4] and what its channels are scaled by.
class Normalization : public testing::Test {
 protected:
  static size_t channel(size_t i) { return i / 12 % 6; }

  Tensor x = random_float32s({2, 6, 3, 4}, 1), scale = random_float32s({6}, 2), shift = random_float32s({6}, 3);
};

TEST_F(Normalization, BatchByGivenStatistics) {
  Tensor mean = random_float32s({6}, 4), variance = float32s({6}, {0, 0.5, 1, 2, 3, 4});
  std::vector<double> expected = numbers(x);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = (expected[i] - mean.as_double()[channel(i)]) / std::sqrt(variance.as_double()[channel(i)] + 1e-5F);
  for (int version : {1, 6, 7, 9, 14, 15})
    expect_close(
        OneNode("BatchNormalization", version).input(x).input(scale).input(shift).input(mean).input(variance).run(),
        scaled(expected, scale, shift, channel), 2e-6);
}

TEST_F(Normalization, BatchByItsOwnStatistics) {
  Tensor mean = random_float32s({6}, 4), variance = float32s({6}, {0, 0.5, 1, 2, 3, 4});
  std::vector<Tensor> y = OneNode("BatchNormalization", 15)
                              .input(x)
                              .input(scale)
                              .input(shift)
                              .input(mean)
                              .input(variance)
                              .attribute("training_mode", int64_t{1})
                              .attribute("momentum", 0.75F)
                              .outputs(3)
                              .run_all();
  expect_close(y.at(0), scaled(standardize(x, channel), scale, shift, channel), 2e-6);
  std::vector<double> running_mean(6), running_variance(6), values = numbers(x);
  for (size_t c = 0; c < 6; ++c) {
    double now = 0, spread = 0;
    for (size_t i = 0; i < values.size(); ++i) now += channel(i) == c ? values[i] / 24 : 0;
    for (size_t i = 0; i < values.size(); ++i) spread += channel(i) == c ? std::pow(values[i] - now, 2) / 24 : 0;
    running_mean[c] = 0.75 * mean.as_double()[c] + 0.25 * now;
    running_variance[c] = 0.75 * variance.as_double()[c] + 0.25 * spread;
  }
  expect_close(y.at(1), running_mean);
  expect_close(y.at(2), running_variance);
}

TEST_F(Normalization, BatchByElementInEarlyVersions) {
  Tensor image = random_float32s({2, 2, 3}), one = float32s({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor zero = float32s({2, 3}, std::vector<float>(6, 0)), variance = float32s({2, 3}, std::vector<float>(6, 1));
  Tensor y = OneNode("BatchNormalization", 7)
                 .input(image)
                 .input(one)
                 .input(zero)
                 .input(zero)
                 .input(variance)
                 .attribute("spatial", int64_t{0})
                 .attribute("epsilon", 0.0F)
                 .run();
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(y.values<float>()[i], image.values<float>()[i] * float(i % 6 + 1));
}

TEST_F(Normalization, BatchRefusesWrongParametersAndTrainingOutputs) {
  OneNode wrong("BatchNormalization");
  wrong.input(DType::float32, {2, 6, 3}).input(DType::float32, {5});
  for (int i = 0; i < 3; ++i) wrong.input(DType::float32, {6});
  EXPECT_THAT(wrong.error(), HasSubstr("the length of input 1 and the number of channels: 5 and 6 differ"));
  OneNode training("BatchNormalization");
  training.input(DType::float32, {2, 6, 3});
  for (int i = 0; i < 4; ++i) training.input(DType::float32, {6});
  EXPECT_THAT(training.outputs(2).error(), HasSubstr("export the model in evaluation mode"));
}

TEST_F(Normalization, Instance) {
  expect_close(OneNode("InstanceNormalization").input(x).input(scale).input(shift).run(),
               scaled(standardize(x, [](size_t i) { return i / 12; }), scale, shift, channel), 2e-6);
}

// Half-precision squares would overflow: the variance is infinite and the result 0 although it should be 1 and -1.
TEST_F(Normalization, InstanceOfLargeHalves) {
  std::vector<uint16_t> checkerboard;
  std::vector<double> expected;
  for (int i = 0; i < 64; ++i) {
    bool odd = ((i / 16 + i / 4 + i) & 1) != 0;
    checkerboard.push_back(odd ? 0xe000 : 0x6000);  // -512, 512
    expected.push_back(odd ? -1 : 1);
  }
  Tensor one = float32s({1}, {1}), zero = float32s({1}, {0});
  Tensor half = Tensor::of(DType::float16, {1, 1, 4, 4, 4}, checkerboard);
  expect_close(OneNode("InstanceNormalization").input(half).input(one).input(zero).run(), expected, 1e-3);
}

// A mean of 4096 and a deviation of 1: E[x^2] - E[x]^2 in float32 would have lost every digit of the variance.
TEST_F(Normalization, InstanceFarFromZero) {
  std::vector<float> values;
  for (float value : x.values<float>()) values.push_back(4096 + value);
  Tensor far = float32s(x.dims(), values);
  Tensor one = float32s({6}, std::vector<float>(6, 1)), zero = float32s({6}, std::vector<float>(6, 0));
  expect_close(OneNode("InstanceNormalization").input(far).input(one).input(zero).run(),
               standardize(far, [](size_t i) { return i / 12; }), 1e-4);
}

TEST_F(Normalization, GroupWithParametersByGroupAndByChannel) {
  auto group = [](size_t i) { return i / 24; };  // two channels of 12 elements
  Tensor by_group = random_float32s({3}, 5), by_group_shift = random_float32s({3}, 6);
  std::vector<double> standard = standardize(x, group);
  expect_close(OneNode("GroupNormalization", 18)
                   .input(x)
                   .input(by_group)
                   .input(by_group_shift)
                   .attribute("num_groups", int64_t{3})
                   .run(),
               scaled(standard, by_group, by_group_shift, [](size_t i) { return i / 24 % 3; }), 2e-6);
  expect_close(
      OneNode("GroupNormalization", 21).input(x).input(scale).input(shift).attribute("num_groups", int64_t{3}).run(),
      scaled(standard, scale, shift, channel), 2e-6);
  OneNode uneven("GroupNormalization", 21);
  uneven.input(x).input(scale).input(shift).attribute("num_groups", int64_t{4});
  EXPECT_THAT(uneven.error(), HasSubstr("the remainder of 6 channels in 4 groups: 2 and 0 differ"));
}

TEST_F(Normalization, LayerWithItsStatistics) {
  Tensor scale_of_rows = random_float32s({3, 4}, 5), shift_of_rows = random_float32s({4}, 6);
  std::vector<Tensor> y = OneNode("LayerNormalization")
                              .input(x)
                              .input(scale_of_rows)
                              .input(shift_of_rows)
                              .attribute("axis", int64_t{2})
                              .outputs(3)
                              .run_all();
  std::vector<double> expected = standardize(x, [](size_t i) { return i / 12; });
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = expected[i] * scale_of_rows.as_double()[i % 12] + shift_of_rows.as_double()[i % 4];
  expect_close(y.at(0), expected, 2e-6);
  EXPECT_THAT(y.at(1).dims(), ElementsAre(2, 6, 1, 1));
  std::vector<double> values = numbers(x);
  double mean = 0, variance = 0;
  for (size_t i = 0; i < 12; ++i) mean += values[i] / 12;
  for (size_t i = 0; i < 12; ++i) variance += std::pow(values[i] - mean, 2) / 12;
  EXPECT_NEAR(numbers(y.at(1))[0], mean, 1e-6);
  EXPECT_NEAR(numbers(y.at(2))[0], 1 / std::sqrt(variance + 1e-5F), 1e-5);
}

TEST_F(Normalization, RootMeanSquare) {
  Tensor scale_of_rows = random_float32s({4}, 5);
  Tensor y = OneNode("RMSNormalization", 23).input(x).input(scale_of_rows).attribute("axis", int64_t{-2}).run();
  std::vector<double> expected = numbers(x);
  for (size_t start = 0; start < expected.size(); start += 12) {
    double squares = 0;
    for (size_t i = 0; i < 12; ++i) squares += std::pow(numbers(x)[start + i], 2) / 12;
    for (size_t i = 0; i < 12; ++i)
      expected[start + i] *= scale_of_rows.as_double()[i % 4] / std::sqrt(squares + 1e-5F);
  }
  expect_close(y, expected, 2e-6);
  // 30000 squared overflows float16, not the float32 that statistics are in.
  Tensor large = Tensor::of<uint16_t>(DType::float16, {2}, {0x7753, 0xf753}), one = float32s({2}, {1, 1});
  expect_close(OneNode("RMSNormalization", 23).input(large).input(one).run(), {1, -1}, 1e-3);
}

TEST_F(Normalization, MeanVariance) {
  expect_close(OneNode("MeanVarianceNormalization").input(x).run(), standardize(x, channel, 0), 2e-6);
  expect_close(OneNode("MeanVarianceNormalization").input(x).attribute("axes", std::vector<int64_t>{-1}).run(),
               standardize(x, [](size_t i) { return i / 4; }, 0), 2e-6);
}

TEST_F(Normalization, Lp) {
  Tensor y = float32s({2, 3}, {3, 4, 0, 0, 0, 0});
  expect_close(OneNode("LpNormalization").input(y).run(), {0.6, 0.8, 0, 0, 0, 0});
  expect_close(OneNode("LpNormalization").input(y).attribute("p", int64_t{1}).run(), {3.0 / 7, 4.0 / 7, 0, 0, 0, 0});
  expect_close(OneNode("LpNormalization").input(y).attribute("axis", int64_t{0}).run(), {1, 1, 0, 0, 0, 0});
  EXPECT_THAT(OneNode("LpNormalization").input(y).attribute("p", int64_t{3}).error(),
              HasSubstr("attribute 'p' must be 1 or 2, found 3"));
}

TEST_F(Normalization, LocalResponseLooksFurtherBehindThanBefore) {
  for (int64_t size : {1, 2, 3, 4, 5}) {
    Tensor y = OneNode("LRN")
                   .input(x)
                   .attribute("size", size)
                   .attribute("alpha", 0.5F)
                   .attribute("beta", 0.75F)
                   .attribute("bias", 2.0F)
                   .run();
    std::vector<double> values = numbers(x), expected = values;
    for (size_t i = 0; i < values.size(); ++i) {
      auto c = static_cast<int64_t>(channel(i));
      double squares = 0;
      for (int64_t k = std::max<int64_t>(0, c - (size - 1) / 2); k <= std::min<int64_t>(5, c + size / 2); ++k)
        squares += std::pow(values[static_cast<size_t>(int64_t(i) + (k - c) * 12)], 2);
      expected[i] /= std::pow(2 + 0.5 / double(size) * squares, 0.75);
    }
    expect_close(y, expected, 2e-6);
  }
}

TEST_F(Normalization, NeedsChannels) {
  EXPECT_THAT(OneNode("LRN").input(DType::float32, {3}).attribute("size", int64_t{3}).error(),
              HasSubstr("input 0 must be of rank 2 or more, [N, C, ...], found [3]"));
}

}  // namespace
}  // namespace onnxc
