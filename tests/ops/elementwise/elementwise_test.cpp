#include "ops/elementwise/elementwise.h"

#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Elementwise, BroadcastsBothWays) {
  // [2, 1, 3] + [4, 1] is [2, 4, 3].
  Tensor a = random_float32s({2, 1, 3}, 1), b = random_float32s({4, 1}, 2);
  Tensor sum = OneNode("Add").input(a).input(b).run();
  ASSERT_THAT(sum.dims(), ElementsAre(2, 4, 3));
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 3; ++k)
        EXPECT_EQ(sum.values<float>()[(i * 4 + j) * 3 + k], a.values<float>()[i * 3 + k] + b.values<float>()[j]);
}

TEST(Elementwise, BroadcastsADimThatIsOneAtRunTime) {
  Symbol n = Symbol::dim("N");
  Tensor many = float32s({3}, {1, 2, 3});
  auto add = [&](const Tensor& first) {
    return OneNode("Add").input(first, {Expr(n)}).input(many).run({{n, first.dims()[0]}});
  };
  EXPECT_THAT(numbers(add(float32s({1}, {10}))), ElementsAre(11, 12, 13));
  EXPECT_THAT(numbers(add(float32s({3}, {10, 20, 30}))), ElementsAre(11, 22, 33));
}

TEST(Elementwise, RefusesShapesThatDoNotBroadcast) {
  EXPECT_THAT(OneNode("Add").input(DType::float32, {2, 3}).input(DType::float32, {2, 4}).error(),
              testing::AllOf(HasSubstr("node 'node1' (Add)"), HasSubstr("4 and 3 differ")));
}

TEST(Elementwise, RefusesMixedAndWrongTypes) {
  EXPECT_THAT(OneNode("Mul").input(DType::float32, {2}).input(DType::float16, {2}).error(),
              HasSubstr("inputs 0 and 1 must have one type, found float32 and float16"));
  EXPECT_THAT(OneNode("Exp").input(DType::int32, {2}).error(),
              HasSubstr("input 0 must have a floating-point type, found int32"));
}

// Before version 7: attribute 'broadcast' allows it, 'axis' says where.
TEST(Elementwise, BroadcastsFromAnAxisInEarlyVersions) {
  Tensor a = random_float32s({2, 3, 4}, 1), b = random_float32s({3}, 2);
  Tensor product =
      OneNode("Mul", 6).input(a).input(b).attribute("broadcast", int64_t{1}).attribute("axis", int64_t{1}).run();
  for (size_t i = 0; i < 24; ++i)
    EXPECT_EQ(product.values<float>()[i], a.values<float>()[i] * b.values<float>()[i / 4 % 3]);
  EXPECT_THAT(OneNode("Mul", 6).input(a).input(b).error(), HasSubstr("[2, 3, 4] and [3] must be equal"));
  EXPECT_THAT(
      OneNode("Mul", 6).input(a).input(b).attribute("broadcast", int64_t{1}).attribute("axis", int64_t{3}).error(),
      HasSubstr("axis 3 is out of range"));
}

TEST(Elementwise, DividesIntegersTowardsZero) {
  Tensor a = int32s({5}, {7, -7, 7, -7, std::numeric_limits<int32_t>::min()}), b = int32s({5}, {2, 2, -2, 0, -1});
  EXPECT_THAT(numbers(OneNode("Div").input(a).input(b).run()),
              ElementsAre(3, -3, -3, 0, std::numeric_limits<int32_t>::min()));
}

TEST(Elementwise, TakesTheRemainderOfBothKinds) {
  Tensor a = int32s({4}, {7, -7, 7, -7}), b = int32s({4}, {3, 3, -3, -3});
  EXPECT_THAT(numbers(OneNode("Mod").input(a).input(b).run()), ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(numbers(OneNode("Mod").input(a).input(b).attribute("fmod", int64_t{1}).run()), ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(OneNode("Mod").input(DType::float32, {2}).input(DType::float32, {2}).error(),
              HasSubstr("attribute 'fmod' must be 1 for float32 inputs"));
}

TEST(Elementwise, RaisesToPowersOfAnotherType) {
  Tensor base = float32s({3}, {2, 3, 0.5}), integer_base = int32s({3}, {2, 3, -2});
  EXPECT_THAT(numbers(OneNode("Pow").input(base).input(int64s({3}, {3, -1, 2})).run()),
              ElementsAre(8, static_cast<double>(1.0F / 3.0F), 0.25));
  EXPECT_THAT(numbers(OneNode("Pow").input(integer_base).input(float32s({}, {3})).run()), ElementsAre(8, 27, -8));
  // A known square is a product.
  EXPECT_THAT(numbers(OneNode("Pow").input(base).constant(float32s({}, {2})).run()), ElementsAre(4, 9, 0.25));
}

TEST(Elementwise, FoldsManyInputs) {
  Tensor a = float32s({2, 1}, {1, nan}), b = float32s({3}, {0, 5, -2}), c = float32s({}, {3});
  auto run = [&](const char* type) { return OneNode(type).input(a).input(b).input(c).run(); };
  expect_close(run("Sum"), {4, 9, 2, nan, nan, nan}, 0);
  expect_close(run("Mean"), {4.0 / 3, 3, 2.0 / 3, nan, nan, nan});
  expect_close(run("Max"), {3, 5, 3, nan, nan, nan}, 0);
  expect_close(run("Min"), {0, 1, -2, nan, nan, nan}, 0);
  EXPECT_THAT(numbers(OneNode("Max").input(c).run()), ElementsAre(3));
}

TEST(Elementwise, HandsOnNaNFromEitherSide) {
  Tensor number = float32s({}, {1}), none = float32s({}, {nan});
  for (const char* type : {"Max", "Min"}) {
    EXPECT_TRUE(std::isnan(numbers(OneNode(type).input(number).input(none).run())[0])) << type;
    EXPECT_TRUE(std::isnan(numbers(OneNode(type).input(none).input(number).run())[0])) << type;
  }
}

TEST(Elementwise, RoundsHalvesToEven) {
  EXPECT_THAT(numbers(OneNode("Round").input(float32s({6}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.25})).run()),
              ElementsAre(0, 2, 2, 0, -2, 2));
}

TEST(Elementwise, WrapsIntegers) {
  Tensor a = Tensor::of<int8_t>(DType::int8, {3}, {-128, 127, 5});
  EXPECT_THAT(numbers(OneNode("Abs").input(a).run()), ElementsAre(-128, 127, 5));
  EXPECT_THAT(numbers(OneNode("Neg").input(a).run()), ElementsAre(-128, -127, -5));
  EXPECT_THAT(numbers(OneNode("Add").input(a).input(a).run()), ElementsAre(0, -2, 10));
  EXPECT_THAT(numbers(OneNode("Sign").input(a).run()), ElementsAre(-1, 1, 1));
}

TEST(Elementwise, ClipsByAttributesAndByInputs) {
  Tensor x = float32s({5}, {-2, -1, 0, 3, nan});
  expect_close(OneNode("Clip", 6).input(x).attribute("min", -1.5F).attribute("max", 2.0F).run(), {-1.5, -1, 0, 2, nan});
  expect_close(OneNode("Clip").input(x).absent().input(float32s({}, {1})).run(), {-2, -1, 0, 1, nan});
  expect_close(OneNode("Clip").input(x).input(float32s({}, {-1})).run(), {-1, -1, 0, 3, nan});
  // The upper bound wins.
  expect_close(OneNode("Clip").input(x).input(float32s({}, {5})).input(float32s({}, {4})).run(), {4, 4, 4, 4, nan});
  expect_close(OneNode("Clip").input(x).run(), {-2, -1, 0, 3, nan});
  EXPECT_THAT(OneNode("Clip").input(DType::float32, {2}).input(DType::float32, {2}).error(),
              HasSubstr("one number is expected as min (input 1), found shape [2]"));
}

TEST(Elementwise, ShrinksIntegersBelowAFractionalThreshold) {
  Tensor x = int32s({5}, {-3, -1, 0, 1, 3});
  EXPECT_THAT(numbers(OneNode("Shrink").input(x).attribute("lambd", 1.5F).attribute("bias", 1.0F).run()),
              ElementsAre(-2, 0, 0, 0, 2));
}

// Half types are computed in float32 and rounded once, when they are stored.
TEST(Elementwise, RoundsHalfTypesOnce) {
  Tensor a = Tensor::of<uint16_t>(DType::float16, {1}, {0x6800});  // 2048
  Tensor b = Tensor::of<uint16_t>(DType::float16, {1}, {0x3c00});  // 1
  // (2048 + 1) + 1 is 2050 in float32; rounded after each sum it would stay 2048.
  EXPECT_THAT(numbers(OneNode("Sum").input(a).input(b).input(b).run()), ElementsAre(2050));
}

TEST(Elementwise, KeepsInfinities) {
  Tensor x = float32s({2}, {infinity, -infinity});
  expect_close(OneNode("Exp").input(x).run(), {infinity, 0});
  expect_close(OneNode("Reciprocal").input(x).run(), {0, 0});
  expect_close(OneNode("Sqrt").input(x).run(), {infinity, nan});
  expect_close(OneNode("Tanh").input(x).run(), {1, -1});
}

}  // namespace
}  // namespace onnxc
