#include "ir/loops/scalar_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

int64_t integer(ScalarOp op, DType dtype, int64_t a, int64_t b) {
  return binary_function(op, dtype)({.integer = a}, {.integer = b}).integer;
}
double real(ScalarOp op, DType dtype, double a, double b) {
  return binary_function(op, dtype)({.number = a}, {.number = b}).number;
}
int64_t to_integer(DType dtype, double value) {
  return cast_function(dtype, DType::float64)({.number = value}).integer;
}

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(ScalarArithmetic, IntegersWrap) {
  EXPECT_EQ(integer(ScalarOp::add, DType::uint8, 250, 10), 4);
  EXPECT_EQ(integer(ScalarOp::add, DType::int8, 127, 1), -128);
  EXPECT_EQ(integer(ScalarOp::multiply, DType::int64, lowest, -1), lowest);
  EXPECT_EQ(integer(ScalarOp::subtract, DType::uint32, 0, 1), 4294967295);
  EXPECT_EQ(unary_function(ScalarOp::absolute, DType::int8)({.integer = -128}).integer, -128);
}

TEST(ScalarArithmetic, IntegerDivision) {
  EXPECT_EQ(integer(ScalarOp::divide, DType::int32, -7, 2), -3);
  EXPECT_EQ(integer(ScalarOp::divide, DType::int32, 7, 0), 0);
  EXPECT_EQ(integer(ScalarOp::divide, DType::int64, lowest, -1), lowest);
  EXPECT_EQ(integer(ScalarOp::divide, DType::uint64, -1, 2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(integer(ScalarOp::modulo_floor, DType::int32, -7, 3), 2);
  EXPECT_EQ(integer(ScalarOp::modulo_floor, DType::int32, 7, -3), -2);
  EXPECT_EQ(integer(ScalarOp::modulo_truncate, DType::int32, -7, 3), -1);
  EXPECT_EQ(integer(ScalarOp::modulo_truncate, DType::int64, lowest, -1), 0);
  EXPECT_EQ(integer(ScalarOp::modulo_floor, DType::int32, 7, 0), 0);
}

TEST(ScalarArithmetic, Shifts) {
  EXPECT_EQ(integer(ScalarOp::shift_left, DType::uint8, 3, 7), 128);
  EXPECT_EQ(integer(ScalarOp::shift_left, DType::uint8, 3, 8), 0);
  EXPECT_EQ(integer(ScalarOp::shift_right, DType::uint64, -1, 63), 1);
  EXPECT_EQ(integer(ScalarOp::shift_right, DType::uint64, -1, 64), 0);
}

TEST(ScalarArithmetic, IntegerPowers) {
  EXPECT_EQ(integer(ScalarOp::power, DType::int64, 3, 39), 4052555153018976267);  // beyond 2^53
  EXPECT_EQ(integer(ScalarOp::power, DType::int32, -1, -3), -1);
  EXPECT_EQ(integer(ScalarOp::power, DType::int32, 2, -1), 0);
}

TEST(ScalarArithmetic, UnsignedComparisons) {
  EXPECT_EQ(integer(ScalarOp::less, DType::uint64, 1, -1), 1);
  EXPECT_EQ(integer(ScalarOp::less, DType::int64, 1, -1), 0);
  EXPECT_EQ(integer(ScalarOp::maximum, DType::uint64, 1, -1), -1);
}

TEST(ScalarArithmetic, CastsSaturate) {
  EXPECT_EQ(to_integer(DType::int8, 300), 127);
  EXPECT_EQ(to_integer(DType::uint8, -1), 0);
  EXPECT_EQ(to_integer(DType::int32, nan_value), 0);
  EXPECT_EQ(to_integer(DType::int64, infinity), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_integer(DType::int64, -1e300), lowest);
  EXPECT_EQ(to_integer(DType::uint64, 1e19), static_cast<int64_t>(10000000000000000000u));
  EXPECT_EQ(to_integer(DType::int32, -2.9), -2);
  EXPECT_EQ(to_integer(DType::boolean, 0.1), 1);
  EXPECT_EQ(to_integer(DType::boolean, nan_value), 1);
}

TEST(ScalarArithmetic, NarrowingKeepsTheLowBits) {
  EXPECT_EQ(cast_function(DType::uint8, DType::int32)({.integer = 257}).integer, 1);
  EXPECT_EQ(cast_function(DType::int8, DType::uint16)({.integer = 200}).integer, -56);
  EXPECT_EQ(cast_function(DType::float32, DType::uint64)({.integer = -1}).number, 18446744073709551616.0);
}

TEST(ScalarArithmetic, Float32IsRoundedAtEachStep) {
  EXPECT_EQ(real(ScalarOp::add, DType::float32, 16777216.0, 1.0), 16777216.0);
  EXPECT_EQ(real(ScalarOp::add, DType::float64, 16777216.0, 1.0), 16777217.0);
}

TEST(ScalarArithmetic, NanIsHandedOnByExtremes) {
  EXPECT_TRUE(std::isnan(real(ScalarOp::minimum, DType::float32, nan_value, 1)));
  EXPECT_TRUE(std::isnan(real(ScalarOp::minimum, DType::float32, 1, nan_value)));
  EXPECT_TRUE(std::isnan(real(ScalarOp::maximum, DType::float64, nan_value, 1)));
  EXPECT_TRUE(std::isnan(real(ScalarOp::maximum, DType::float64, 1, nan_value)));
}

TEST(ScalarArithmetic, RealRemainders) {
  EXPECT_EQ(real(ScalarOp::modulo_truncate, DType::float32, -7, 3), -1);
  EXPECT_EQ(real(ScalarOp::modulo_floor, DType::float32, -7, 3), 2);
}

TEST(ScalarArithmetic, RoundsHalvesToEven) {
  UnaryFunction round = unary_function(ScalarOp::round_even, DType::float32);
  EXPECT_EQ(round({.number = 0.5}).number, 0);
  EXPECT_EQ(round({.number = 1.5}).number, 2);
  EXPECT_EQ(round({.number = -2.5}).number, -2);
}

TEST(ScalarArithmetic, RefusesOperationsWithoutMeaning) {
  EXPECT_THROW(binary_function(ScalarOp::shift_left, DType::float32), InternalError);
  EXPECT_THROW(unary_function(ScalarOp::negate, DType::boolean), InternalError);
  EXPECT_THROW(binary_function(ScalarOp::add, DType::boolean), InternalError);
}

}  // namespace
}  // namespace onnxc
