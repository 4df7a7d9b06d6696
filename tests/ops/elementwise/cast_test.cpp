#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor cast(const Tensor& x, DType to) {
  return OneNode("Cast").input(x).attribute("to", static_cast<int64_t>(to)).run();
}

TEST(Cast, TruncatesAndSaturates) {
  Tensor x = float32s({6}, {1.9F, -1.9F, 300, -300, std::numeric_limits<float>::quiet_NaN(), 0.5F});
  EXPECT_THAT(numbers(cast(x, DType::int32)), ElementsAre(1, -1, 300, -300, 0, 0));
  EXPECT_THAT(numbers(cast(x, DType::boolean)), ElementsAre(1, 1, 1, 1, 1, 1));
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  Tensor x = int64s({3}, {300, -1, int64_t{1} << 32});
  EXPECT_THAT(numbers(cast(x, DType::uint8)), ElementsAre(44, 255, 0));
  EXPECT_THAT(numbers(cast(x, DType::int32)), ElementsAre(300, -1, 0));
}

TEST(Cast, RoundsToHalfTypes) {
  Tensor x = float32s({3}, {2049, 65504, 70000});
  expect_close(cast(x, DType::float16), {2048, 65504, std::numeric_limits<double>::infinity()}, 0);
  expect_close(cast(x, DType::bfloat16), {2048, 65536, 70144}, 0);
}

// Rounded to float32 first, this would become a tie and then go to the even neighbour below.
TEST(Cast, RoundsToHalfTypesOnce) {
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  expect_close(cast(float64s({2}, {above_tie, -above_tie}), DType::float16), {1 + 0x1p-10, -1 - 0x1p-10}, 0);
  expect_close(cast(float64s({2}, {1e300, -1e-300}), DType::float16), {std::numeric_limits<double>::infinity(), 0}, 0);
  expect_close(cast(int64s({1}, {(int64_t{1} << 40) + (int64_t{1} << 32) + 1}), DType::bfloat16), {0x1p40 + 0x1p33}, 0);
}

TEST(Cast, TakesNamesOfTypesInItsFirstVersion) {
  OneNode node("Cast", 1);
  node.input(float32s({1}, {2.5F})).attribute("to", std::string("INT64"));
  EXPECT_THAT(node.run().as_int64(), ElementsAre(2));
}

TEST(Cast, RefusesTypesThatAreNotCompiled) {
  EXPECT_THAT(OneNode("Cast").input(DType::float32, {1}).attribute("to", int64_t{14}).error(),
              HasSubstr("attribute 'to' is element type 14 of TensorProto.DataType"));
  EXPECT_THAT(OneNode("Cast").input(DType::float32, {1}).error(), HasSubstr("attribute 'to' is missing"));
}

TEST(Cast, RefusesAnUnknownRoundMode) {
  OneNode node("Cast", 25);
  node.input(DType::float32, {1}).attribute("to", int64_t{24}).attribute("round_mode", std::string("away"));
  EXPECT_THAT(node.error(),
              HasSubstr("attribute 'round_mode' must be \"up\", \"down\" or \"nearest\", found \"away\""));
}

TEST(CastLike, TakesTheTypeOfItsSecondInput) {
  EXPECT_THAT(OneNode("CastLike").input(float32s({2}, {1.5F, 2})).input(int64s({}, {0})).run().as_int64(),
              ElementsAre(1, 2));
}

TEST(Identity, HandsOnEveryType) {
  Tensor x = booleans({2}, {1, 0});
  EXPECT_THAT(numbers(OneNode("Identity").input(x).run()), ElementsAre(1, 0));
}

}  // namespace
}  // namespace onnxc
