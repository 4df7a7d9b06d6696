#include "ir/loops/rounding.h"

#include <gtest/gtest.h>

namespace onnxc {
namespace {

constexpr DType wide = DType::float32;

class WithoutRounding : public testing::TestWithParam<DType> {
 protected:
  Scalar rounded(const Scalar& value) const { return scalar::cast(GetParam(), value); }
  Scalar stored(BufferId buffer) const { return scalar::cast(wide, scalar::load(GetParam(), buffer, {0})); }
  const Scalar sum = scalar::accumulator(wide, 0);
};

TEST_P(WithoutRounding, KeepsWhatIsComputedInFloat32) {
  const Scalar scaled = rounded(scalar::cast(wide, rounded(sum)) * stored(1));
  EXPECT_EQ(to_string(without_rounding(rounded(scalar::cast(wide, scaled) + stored(2)))),
            to_string(sum * stored(1) + stored(2)));
  EXPECT_EQ(without_rounding(rounded(sum)).dtype(), wide);
}

TEST_P(WithoutRounding, LeavesWhatIsRead) {
  const Scalar read = scalar::load(GetParam(), 1, {0});
  EXPECT_EQ(to_string(without_rounding(read)), to_string(read));
  EXPECT_EQ(to_string(without_rounding(stored(1) + sum)), to_string(stored(1) + sum));
}

TEST_P(WithoutRounding, LeavesOperandsOfAnOperatorOfTheHalfType) {
  const Scalar read = scalar::load(GetParam(), 1, {0});
  const Scalar chosen = scalar::select(scalar::unary(ScalarOp::is_nan, sum), read, rounded(sum));
  EXPECT_EQ(to_string(without_rounding(chosen)), to_string(chosen));
}

TEST_P(WithoutRounding, SharedPartsAreVisitedOnce) {
  Scalar value = sum;
  for (int i = 0; i < 60; ++i) value = scalar::cast(wide, rounded(value * value));
  EXPECT_EQ(without_rounding(value)->op, ScalarOp::multiply);
}

TEST(WithoutRoundingOfFloat32, OtherCastsStay) {
  const Scalar sum = scalar::accumulator(wide, 0);
  const Scalar value = scalar::cast(wide, scalar::cast(DType::int32, sum)) + sum;
  EXPECT_EQ(to_string(without_rounding(value)), to_string(value));
}

INSTANTIATE_TEST_SUITE_P(Halves, WithoutRounding, testing::Values(DType::float16, DType::bfloat16));

}  // namespace
}  // namespace onnxc
