// Errors are measured against libm in double precision, for floats of all exponents.
#include "kernels/cpu/vector/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/vector/all_exponents.h"
#include "kernels/cpu/vector/normal_exponential.h"

namespace onnxc::kernels {
namespace {

TEST(ISA_SUITE(Math), Exponential) { CHECK_ALL_EXPONENTS(exponential, std::exp, 1.0); }

TEST(ISA_SUITE(Math), ExponentialWithoutDenormals) {
  constexpr float least = -126.0f * 0x1.62e430p-1f;
  for (float x = -120.0f; x <= 0.0f; x += 0x1p-6f) {
    const auto result = static_cast<double>(normal_exponential(splat(x))[lanes - 1]);
    const double expected = x < least ? 0.0 : std::exp(static_cast<double>(x));
    ASSERT_NEAR(result, expected, (0x1p-22 + std::abs(static_cast<double>(x)) * 0x1p-23) * expected) << x;
  }
  EXPECT_EQ(normal_exponential(splat(0.0f))[0], 1.0f);
  EXPECT_EQ(normal_exponential(splat(-1e38f))[0], 0.0f);
  EXPECT_EQ(normal_exponential(splat(-infinity))[0], 0.0f);
  EXPECT_TRUE(std::isnan(normal_exponential(splat(nan))[0]));
}

TEST(ISA_SUITE(Math), Logistic) {
  // Zero if the exact value is below 2^-127.5. The bound: an ulp of the exponential, half of one each of the sum and
  // the quotient, and twice as many of them if a sum is just above a power of two.
  static constexpr auto exact = [](double x) { return x < -127.5 * std::log(2.0) ? 0.0 : 1.0 / (1.0 + std::exp(-x)); };
  CHECK_ALL_EXPONENTS(logistic, exact, 2.5);
  double largest = 0.0;
  for (float x = -88.0f; x <= 90.0f; x += 0x1p-10f)
    largest = std::max(largest, error_in_ulp(logistic(x), exact(static_cast<double>(x))));
  EXPECT_LE(largest, 2.5);
  EXPECT_EQ(logistic(infinity), 1.0f);
  EXPECT_EQ(logistic(-infinity), 0.0f);
  EXPECT_EQ(logistic(0.0f), 0.5f);
}
TEST(ISA_SUITE(Math), Logarithm) { CHECK_ALL_EXPONENTS(logarithm, std::log, 1.0); }
TEST(ISA_SUITE(Math), HyperbolicTangent) { CHECK_ALL_EXPONENTS(hyperbolic_tangent, std::tanh, 2.0); }
TEST(ISA_SUITE(Math), ErrorFunction) { CHECK_ALL_EXPONENTS(error_function, std::erf, 1.5); }

// Not almost: what follows may multiply 1 - erf(x) with a large x.
TEST(ISA_SUITE(Math), ErrorFunctionIsOneFarFromZero) {
  for (float x = 3.925f; x < 1e38f; x *= 1.01f) {
    ASSERT_EQ(error_function(x), 1.0f) << x;
    ASSERT_EQ(error_function(-x), -1.0f) << x;
  }
  for (float x = 3.8f; x < 3.925f; x += 0x1p-16f) ASSERT_LE(error_function(x), 1.0f) << x;
  EXPECT_EQ(error_function(infinity), 1.0f);
}

TEST(ISA_SUITE(Math), SignedZerosStay) {
  EXPECT_TRUE(std::signbit(hyperbolic_tangent(-0.0f)));
  EXPECT_TRUE(std::signbit(error_function(-0.0f)));
  EXPECT_FALSE(std::signbit(hyperbolic_tangent(0.0f)));
  EXPECT_TRUE(same_bits(round_even(-0.25f), -0.0f));
  EXPECT_TRUE(same_bits(ceil(splat(-0.25f))[0], -0.0f));
}

TEST(ISA_SUITE(Math), Rounding) {
  for (float x : {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49999997f, 8388607.5f, 3e9f, -infinity}) {
    EXPECT_EQ(round_even(x), std::nearbyint(x));
    EXPECT_EQ(floor(x), std::floor(x));
    EXPECT_EQ(ceil(x), std::ceil(x));
    EXPECT_EQ(truncate(x), std::trunc(x));
    EXPECT_EQ(round_even(splat(x))[1], std::nearbyint(x));
    EXPECT_EQ(floor(splat(x))[1], std::floor(x));
    EXPECT_EQ(ceil(splat(x))[1], std::ceil(x));
    EXPECT_EQ(truncate(splat(x))[1], std::trunc(x));
  }
}

void check_power(float x, float y, double bound) {
  const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
  EXPECT_LE(error_in_ulp(power(x, y), exact), bound) << x << " to the power " << y << ": " << power(x, y);
  EXPECT_TRUE(same_bits(power(splat(x), splat(y))[lanes - 1], power(x, y))) << x << " to the power " << y;
}

TEST(ISA_SUITE(Math), PowerOfSpecialValues) {
  const std::vector<float> values = {
      0.0f,         -0.0f,         1.0f,  -1.0f,       2.0f,         -2.0f,     0.5f,        -0.5f,      3.0f,
      -3.0f,        1.5f,          -1.5f, 16777215.0f, -16777215.0f, 1e30f,     infinity,    -infinity,  nan,
      from_bits(1), -from_bits(1), 4e9f,  -1e30f,      0x1p-126f,    0x1.8p23f, 0.99999994f, -1.0000001f};
  for (float x : values)
    for (float y : values) {
      const float expected = static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
      if (std::isfinite(expected) && expected != 0.0f)
        check_power(x, y, 0.51);
      else
        EXPECT_TRUE(same_bits(power(x, y), expected)) << x << " to the power " << y << ": " << power(x, y);
    }
}

TEST(ISA_SUITE(Math), PowerOfRandomValues) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> result(-149.5, 128.5), base(-149.0, 128.0);
  for (int i = 0; i < 300000; ++i) {
    // The base is of any magnitude, or near 1; the exponent such that the result is a float.
    const double log2_base = i % 2 == 0 ? base(generator) : base(generator) * 0x1p-20;
    const auto x = static_cast<float>(std::exp2(log2_base));
    if (x == 1.0f) continue;
    const auto y = static_cast<float>(result(generator) / std::log2(static_cast<double>(x)));
    check_power(x, y, 0.51);
    check_power(-x, std::nearbyint(y), 0.51);
  }
}

// Bit by bit libm's, which is exact: quotients small and large, of equal and of any exponents, special values.
TEST(ISA_SUITE(Math), ModuloIsExact) {
  const auto check = [](float x, float y) {
    ASSERT_TRUE(same_bits(modulo_truncate(x, y), std::fmod(x, y)))
        << x << " modulo " << y << ": " << modulo_truncate(x, y) << " instead of " << std::fmod(x, y);
  };
  const std::vector<float> values = {0.0f,     -0.0f, 1.0f,         -1.5f,         3.0f,         0.1f,
                                     infinity, nan,   from_bits(1), 3.4028235e38f, -16777215.0f, 0x1p-126f};
  for (float x : values)
    for (float y : values) check(x, y);
  for (int i = -300; i < 300; ++i)
    for (int k = 1; k < 300; ++k) check(static_cast<float>(i * k) * 0.37f, static_cast<float>(k) * 0.37f);
  std::mt19937 generator(11);
  for (int i = 0; i < 1000000; ++i) {
    const uint32_t x = generator();
    const uint32_t exponent = i % 2 == 0 ? generator() : x - (generator() % 32 << 23);
    check(from_bits(x), from_bits((generator() & 0x807fffffu) | (exponent & 0x7f800000u)));
  }
}

TEST(ISA_SUITE(Math), ModuloAndSignOfVectors) {
  EXPECT_EQ(modulo_truncate(splat(-7.5f), splat(2.0f))[0], -1.5f);
  EXPECT_EQ(modulo_floor(splat(-7.5f), splat(2.0f))[0], 0.5f);
  EXPECT_EQ(modulo_floor(splat(7.5f), splat(-2.0f))[0], -0.5f);
  EXPECT_EQ(modulo_floor(splat(6.0f), splat(-2.0f))[0], 0.0f);
  EXPECT_EQ(sign(splat(-infinity))[0], -1.0f);
  EXPECT_EQ(sign(splat(nan))[0], 0.0f);
  EXPECT_EQ(reciprocal(splat(-0.0f))[0], -infinity);
}

}  // namespace
}  // namespace onnxc::kernels
