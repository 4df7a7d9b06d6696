#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Softmax in double precision over `columns` elements that lie `stride` apart.
std::vector<double> softmax(const Tensor& x, size_t columns, size_t stride, bool takes_logarithm) {
  std::vector<double> values = numbers(x), result(values.size());
  for (size_t start = 0; start < values.size(); ++start) {
    if (start / stride % columns != 0) continue;
    double sum = 0;
    for (size_t k = 0; k < columns; ++k) sum += std::exp(values[start + k * stride]);
    for (size_t k = 0; k < columns; ++k) {
      double value = values[start + k * stride];
      result[start + k * stride] = takes_logarithm ? value - std::log(sum) : std::exp(value) / sum;
    }
  }
  return result;
}

TEST(Softmax, LooksAtOneAxisSinceVersion13) {
  Tensor x = random_float32s({2, 3, 5});
  for (bool takes_logarithm : {false, true}) {
    const char* type = takes_logarithm ? "LogSoftmax" : "Softmax";
    expect_close(OneNode(type).input(x).run(), softmax(x, 5, 1, takes_logarithm));
    expect_close(OneNode(type).input(x).attribute("axis", int64_t{1}).run(), softmax(x, 3, 5, takes_logarithm));
    expect_close(OneNode(type).input(x).attribute("axis", int64_t{-3}).run(), softmax(x, 2, 15, takes_logarithm));
  }
}

TEST(Softmax, LooksAtAMatrixBeforeVersion13) {
  Tensor x = random_float32s({2, 3, 5});
  expect_close(OneNode("Softmax", 11).input(x).run(), softmax(x, 15, 1, false));
  expect_close(OneNode("LogSoftmax", 12).input(x).attribute("axis", int64_t{2}).run(), softmax(x, 5, 1, true));
  expect_close(OneNode("Softmax", 1).input(x).attribute("axis", int64_t{0}).run(), softmax(x, 30, 1, false));
}

TEST(Softmax, NeitherOverflowsNorHidesNaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  expect_close(OneNode("Softmax").input(float32s({2}, {1e4F, 1e4F})).run(), {0.5, 0.5});
  expect_close(OneNode("Softmax").input(float32s({3}, {-infinity, 0, 0})).run(), {0, 0.5, 0.5});
  expect_close(OneNode("Softmax").input(float32s({2}, {-infinity, -infinity})).run(), {nan, nan});
  // 60000 is far past what float16's exponential holds.
  Tensor half = Tensor::of<uint16_t>(DType::float16, {2}, {0x7b53, 0x7b53});
  expect_close(OneNode("Softmax").input(half).run(), {0.5, 0.5}, 0);
}

TEST(Hardmax, MarksTheFirstOfTheLargest) {
  Tensor x = float32s({2, 2, 2}, {1, 3, 3, 0, 5, 5, 2, 5});
  EXPECT_THAT(numbers(OneNode("Hardmax").input(x).run()), ElementsAre(0, 1, 1, 0, 1, 0, 0, 1));
  EXPECT_THAT(numbers(OneNode("Hardmax", 11).input(x).run()), ElementsAre(0, 1, 0, 0, 1, 0, 0, 0));
}

TEST(Softmax, RefusesAnAxisOutOfRange) {
  EXPECT_THAT(OneNode("Softmax").input(DType::float32, {2, 3}).attribute("axis", int64_t{2}).error(),
              HasSubstr("axis 2 is out of range for a tensor of rank 2"));
}

}  // namespace
}  // namespace onnxc
