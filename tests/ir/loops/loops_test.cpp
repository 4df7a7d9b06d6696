#include "ir/loops/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

const Expr d = Symbol::dim("D");
const Expr i = Symbol::axis("i", d), k = Symbol::axis("k", 3);

Scalar x() { return scalar::load(DType::float32, 0, {i}); }
Scalar n() { return scalar::load(DType::int32, 1, {i}); }
Scalar real(double value) { return scalar::constant(DType::float32, value); }
Scalar whole(int64_t value) { return scalar::integer_constant(DType::int32, value); }

TEST(Scalars, FoldIntegersWithNeutralElements) {
  EXPECT_EQ(to_string(n() + whole(0)), "b1[i]");
  EXPECT_EQ(to_string(whole(0) + n()), "b1[i]");
  EXPECT_EQ(to_string(n() * whole(1)), "b1[i]");
  EXPECT_EQ(to_string(n() * whole(0)), "int32(0)");
  EXPECT_EQ(to_string(n() / whole(1)), "b1[i]");
}

TEST(Scalars, KeepAdditionsOfZeroToReals) {
  EXPECT_EQ(to_string(x() + real(0)), "b0[i] + 0.0");  // -0 + 0 is 0
  EXPECT_EQ(to_string(x() * real(0)), "b0[i] * 0.0");  // NaN * 0 is NaN
  EXPECT_EQ(to_string(x() - real(0)), "b0[i]");
  EXPECT_EQ(to_string(x() - real(-0.0)), "b0[i] - -0.0");
  EXPECT_EQ(to_string(x() * real(1)), "b0[i]");
}

TEST(Scalars, FoldConstantsExactly) {
  EXPECT_EQ(to_string(real(0.1) + real(0.2)), fmt::format("{}", 0.1f + 0.2f));
  EXPECT_EQ(to_string(real(1) / real(3)), fmt::format("{}", 1.0f / 3.0f));
  EXPECT_EQ(to_string(whole(2147483647) + whole(1)), "int32(-2147483648)");
  EXPECT_EQ(to_string(whole(7) / whole(0)), "int32(0)");
  EXPECT_EQ(to_string(scalar::unary(ScalarOp::exponential, real(0))), "exp(0.0)");  // a matter of the target's library
}

TEST(Scalars, FoldLogicalOperations) {
  Scalar test = scalar::unary(ScalarOp::is_nan, x());
  Scalar yes = scalar::integer_constant(DType::boolean, 1), no = scalar::integer_constant(DType::boolean, 0);
  EXPECT_EQ(to_string(scalar::binary(ScalarOp::logical_and, yes, test)), "is_nan(b0[i])");
  EXPECT_EQ(to_string(scalar::binary(ScalarOp::logical_and, test, no)), "false");
  EXPECT_EQ(to_string(scalar::binary(ScalarOp::logical_or, test, yes)), "true");
  EXPECT_EQ(to_string(scalar::binary(ScalarOp::logical_xor, test, yes)), "!is_nan(b0[i])");
  EXPECT_EQ(to_string(scalar::unary(ScalarOp::logical_not, scalar::unary(ScalarOp::logical_not, test))),
            "is_nan(b0[i])");
}

TEST(Scalars, FoldSelects) {
  Scalar yes = scalar::integer_constant(DType::boolean, 1), value = x();
  EXPECT_EQ(to_string(scalar::select(yes, value, real(0))), "b0[i]");
  EXPECT_EQ(to_string(scalar::select(scalar::unary(ScalarOp::is_nan, value), value, value)), "b0[i]");
  const Scalar is_nan = scalar::unary(ScalarOp::is_nan, value);
  const Scalar where_not = scalar::select(scalar::unary(ScalarOp::logical_not, is_nan), real(1), value);
  EXPECT_EQ(to_string(scalar::select(is_nan, real(0), where_not)), "select(is_nan(b0[i]), 0.0, 1.0)");
}

TEST(Scalars, FoldComparisonsOfIndicesThatAreProven) {
  auto less = [](const Expr& a, const Expr& b) {
    return to_string(scalar::binary(ScalarOp::less, scalar::index(a), scalar::index(b)));
  };
  EXPECT_EQ(less(i, d), "true");
  EXPECT_EQ(less(d, i), "false");
  EXPECT_EQ(less(k, 3), "true");
  EXPECT_EQ(less(k, 2), "index(k) < 2");
  EXPECT_EQ(to_string(scalar::binary(ScalarOp::equal, scalar::index(i), scalar::index(d))), "false");
}

TEST(Scalars, FoldCasts) {
  EXPECT_EQ(to_string(scalar::cast(DType::int32, real(-2.7))), "int32(-2)");
  EXPECT_EQ(to_string(scalar::cast(DType::float16, real(1e9))), "float16(inf)");
  EXPECT_EQ(to_string(scalar::cast(DType::float32, x())), "b0[i]");
  Scalar half = scalar::load(DType::float16, 2, {i});
  EXPECT_EQ(to_string(scalar::cast(DType::float16, scalar::cast(DType::float32, half))), "b2[i]");
  EXPECT_EQ(to_string(scalar::cast(DType::float32, scalar::cast(DType::float16, x()))), "float32(float16(b0[i]))");
}

TEST(Scalars, ReinterpretKeepsTheBits) {
  const auto bits = [](DType dtype, const Scalar& value) { return to_string(scalar::reinterpret(dtype, value)); };
  EXPECT_EQ(bits(DType::int32, x()), "bits_as_int32(b0[i])");
  EXPECT_EQ(bits(DType::float32, x()), "b0[i]");
  EXPECT_EQ(bits(DType::int32, real(-0.0)), "int32(-2147483648)");
  EXPECT_EQ(bits(DType::float32, whole(0x3f800000)), "1.0");
  EXPECT_EQ(bits(DType::uint16, scalar::constant(DType::float16, -2)), "uint16(49152)");
  EXPECT_EQ(bits(DType::bfloat16, scalar::integer_constant(DType::int16, 0x3fc0)), "bfloat16(1.5)");
  EXPECT_EQ(bits(DType::uint32, n()), "uint32(b1[i])");
  EXPECT_EQ(bits(DType::int4, scalar::constant(DType::float4e2m1, -6)), "int4(-1)");
  EXPECT_EQ(bits(DType::float4e2m1, scalar::integer_constant(DType::int4, -1)), "float4e2m1(-6)");
  EXPECT_THROW(scalar::reinterpret(DType::int64, x()), InternalError);
  EXPECT_THROW(scalar::reinterpret(DType::boolean, scalar::load(DType::int8, 2, {i})), InternalError);
}

// Going there and back is dropped if it changes nothing: FNUZ types lack the -0 that float4 has.
TEST(Scalars, CastsThereAndBack) {
  const Scalar four = scalar::load(DType::float4e2m1, 2, {i});
  const auto back = [&](DType dtype) { return to_string(scalar::cast(DType::float4e2m1, scalar::cast(dtype, four))); };
  EXPECT_EQ(back(DType::float8e4m3fn), "b2[i]");
  EXPECT_EQ(back(DType::float32), "b2[i]");
  EXPECT_EQ(back(DType::float8e5m2fnuz), "float4e2m1(float8e5m2fnuz(b2[i]))");
  EXPECT_EQ(back(DType::int8), "float4e2m1(int8(b2[i]))");
}

TEST(Scalars, CastsRoundArithmeticOnHalfTypes) {
  Scalar half = scalar::load(DType::float16, 2, {i});
  EXPECT_EQ(to_string(scalar::cast(DType::float16, half * half)), "float16(b2[i] * b2[i])");
}

TEST(Scalars, RefuseOperandsOfAnotherType) {
  EXPECT_THROW(x() + n(), InternalError);
  EXPECT_THROW(scalar::unary(ScalarOp::exponential, n()), InternalError);
  EXPECT_THROW(scalar::binary(ScalarOp::bitwise_and, x(), x()), InternalError);
  EXPECT_THROW(scalar::binary(ScalarOp::logical_and, n(), n()), InternalError);
  EXPECT_THROW(scalar::select(n(), x(), x()), InternalError);
}

TEST(Scalars, PrintWithTheParenthesesTheyNeed) {
  EXPECT_EQ(to_string((x() + x()) * x()), "(b0[i] + b0[i]) * b0[i]");
  EXPECT_EQ(to_string(x() - (x() - x())), "b0[i] - (b0[i] - b0[i])");
  EXPECT_EQ(to_string(x() - x() - x()), "b0[i] - b0[i] - b0[i]");
  EXPECT_EQ(to_string(-(x() + x())), "-(b0[i] + b0[i])");
  EXPECT_EQ(to_string(scalar::constant(DType::float64, 0.1)), "float64(0.1)");
  EXPECT_EQ(to_string(real(std::numeric_limits<double>::infinity())), "float32(inf)");
}

TEST(Scalars, SubstituteIntoIndicesAndLoads) {
  Scalar sum = scalar::cast(DType::float32, scalar::index(i + 1)) + x();
  EXPECT_EQ(to_string(substitute(sum, {{*i.as_symbol(), k * 2}})), "float32(index(2*k + 1)) + b0[2*k]");
}

TEST(Scalars, SubstitutionDecidesTests) {
  Scalar inside = scalar::binary(ScalarOp::less, scalar::index(i), scalar::index(3));
  Scalar padded = scalar::select(inside, x(), real(0));
  EXPECT_EQ(to_string(substitute(padded, {{*i.as_symbol(), k}})), "b0[k]");
}

TEST(Scalars, ReplaceLoadsAndAccumulators) {
  Scalar sum = x() + scalar::accumulator(DType::float32, 0);
  EXPECT_EQ(to_string(replace_loads(sum, [](const ScalarNode&) { return real(2); })), "2.0 + acc0");
  EXPECT_EQ(to_string(replace_loads(sum, [](const ScalarNode&) { return Scalar(); })), "b0[i] + acc0");
  EXPECT_EQ(to_string(replace_accumulators(sum, {x()})), "b0[i] + b0[i]");
}

TEST(Scalars, SharedNodesAreVisitedAndRewrittenOnce) {
  Scalar value = x();
  for (int step = 0; step < 64; ++step) value = value + value;  // 2^64 paths
  int visits = 0;
  visit(value, [&](const ScalarNode&) { ++visits; });
  EXPECT_EQ(visits, 65);
  Scalar moved = substitute(value, {{*i.as_symbol(), k}});
  visits = 0;
  visit(moved, [&](const ScalarNode&) { ++visits; });
  EXPECT_EQ(visits, 65);
}

TEST(Scalars, VisitOperandsFirst) {
  std::vector<ScalarOp> order;
  visit(-(x() + real(1)), [&](const ScalarNode& node) { order.push_back(node.op); });
  EXPECT_THAT(order, ElementsAre(ScalarOp::load, ScalarOp::constant, ScalarOp::add, ScalarOp::negate));
}

}  // namespace
}  // namespace onnxc
