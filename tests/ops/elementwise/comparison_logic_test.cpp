#include <limits>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Comparison, OrdersNumbersAndNoNaN) {
  Tensor a = float32s({4}, {1, 2, 3, nan}), b = float32s({4}, {2, 2, 2, nan});
  auto run = [&](const char* type) { return numbers(OneNode(type).input(a).input(b).run()); };
  EXPECT_THAT(run("Less"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(run("LessOrEqual"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(run("Greater"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run("GreaterOrEqual"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(run("Equal"), ElementsAre(0, 1, 0, 0));
}

TEST(Comparison, ComparesUnsignedIntegersAsSuch) {
  Tensor a = Tensor::of<uint64_t>(DType::uint64, {1}, {1ULL << 63}), b = Tensor::of<uint64_t>(DType::uint64, {1}, {1});
  EXPECT_THAT(numbers(OneNode("Greater").input(a).input(b).run()), ElementsAre(1));
}

TEST(Comparison, ComparesBooleans) {
  Tensor a = booleans({4}, {0, 0, 1, 1}), b = booleans({4}, {0, 1, 0, 1});
  EXPECT_THAT(numbers(OneNode("Equal").input(a).input(b).run()), ElementsAre(1, 0, 0, 1));
}

TEST(Logic, HasItsTruthTables) {
  Tensor a = booleans({2, 1}, {0, 1}), b = booleans({2}, {0, 1});
  auto run = [&](const char* type) { return numbers(OneNode(type).input(a).input(b).run()); };
  EXPECT_THAT(run("And"), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(run("Or"), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(run("Xor"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(numbers(OneNode("Not").input(b).run()), ElementsAre(1, 0));
  EXPECT_THAT(OneNode("And").input(DType::int32, {2}).input(DType::int32, {2}).error(),
              HasSubstr("input 0 must have bool, found int32"));
}

TEST(Bits, ShiftAndCombine) {
  Tensor a = Tensor::of<uint8_t>(DType::uint8, {3}, {0x81, 0x0f, 3}),
         b = Tensor::of<uint8_t>(DType::uint8, {3}, {1, 4, 8});
  auto run = [&](const char* type) { return numbers(OneNode(type).input(a).input(b).run()); };
  auto shift = [&](const char* direction) {
    return numbers(OneNode("BitShift").input(a).input(b).attribute("direction", std::string(direction)).run());
  };
  EXPECT_THAT(shift("LEFT"), ElementsAre(0x02, 0xf0, 0));
  EXPECT_THAT(shift("RIGHT"), ElementsAre(0x40, 0, 0));
  EXPECT_THAT(run("BitwiseAnd"), ElementsAre(1, 4, 0));
  EXPECT_THAT(run("BitwiseOr"), ElementsAre(0x81, 0x0f, 11));
  EXPECT_THAT(run("BitwiseXor"), ElementsAre(0x80, 0x0b, 11));
  EXPECT_THAT(numbers(OneNode("BitwiseNot").input(a).run()), ElementsAre(0x7e, 0xf0, 252));
  EXPECT_THAT(OneNode("BitShift").input(a).input(b).error(), HasSubstr("must be \"LEFT\" or \"RIGHT\", found \"\""));
}

TEST(Bits, ShiftSignedNumbersArithmetically) {
  Tensor a = int32s({5}, {-8, -8, -8, 8, 8}), b = int32s({5}, {1, 32, -1, 40, -1});
  auto shift = [&](const char* direction) {
    return numbers(OneNode("BitShift", 28).input(a).input(b).attribute("direction", std::string(direction)).run());
  };
  EXPECT_THAT(shift("RIGHT"), ElementsAre(-4, -1, -1, 0, 0));
  EXPECT_THAT(shift("LEFT"), ElementsAre(-16, 0, 0, 0, 0));
}

TEST(Tests, TellInfinitiesBySign) {
  Tensor x = float32s({4}, {1, infinity, -infinity, nan});
  EXPECT_THAT(numbers(OneNode("IsNaN").input(x).run()), ElementsAre(0, 0, 0, 1));
  auto run = [&](int64_t positive, int64_t negative) {
    return numbers(
        OneNode("IsInf").input(x).attribute("detect_positive", positive).attribute("detect_negative", negative).run());
  };
  EXPECT_THAT(run(1, 1), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(run(1, 0), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(run(0, 1), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(run(0, 0), ElementsAre(0, 0, 0, 0));
}

TEST(Where, BroadcastsAllThree) {
  Tensor y = OneNode("Where")
                 .input(booleans({2, 1}, {1, 0}))
                 .input(int64s({3}, {1, 2, 3}))
                 .input(int64s({}, {int64_t{1} << 62}))
                 .run();
  EXPECT_THAT(y.dims(), ElementsAre(2, 3));
  EXPECT_THAT(y.as_int64(), ElementsAre(1, 2, 3, int64_t{1} << 62, int64_t{1} << 62, int64_t{1} << 62));
  EXPECT_THAT(OneNode("Where").input(DType::boolean, {1}).input(DType::int64, {1}).input(DType::int32, {1}).error(),
              HasSubstr("inputs 1 and 2 must have one type, found int64 and int32"));
}

}  // namespace
}  // namespace onnxc
