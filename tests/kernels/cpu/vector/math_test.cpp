// Errors are measured against libm in double precision, for floats of all exponents.
#include "kernels/cpu/vector/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/vector/normal_exponential.h"

namespace onnxc::kernels {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
bool same_bits(float a, float b) {
  return __builtin_bit_cast(uint32_t, a) == __builtin_bit_cast(uint32_t, b) || (std::isnan(a) && std::isnan(b));
}

// The distance in units of the last place that `exact` has as a float, denormal numbers too.
double error_in_ulp(float value, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(value)) return std::isnan(exact) && std::isnan(value) ? 0.0 : infinity;
  if (std::isinf(rounded) || std::isinf(value)) return rounded == value ? 0.0 : infinity;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(value - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

// A vec function, its scalar form and libm's double form, over every 509th float: all exponents, both signs, NaN and
// infinity.
template <class Vector, class Scalar, class Exact>
void check_all_exponents(Vector vector, Scalar scalar, Exact exact, double bound) {
  double largest = 0.0;
  float at = 0.0f;
  bool lanes_agree = true;
  auto check = [&](float x) {
    const float value = scalar(x);
    const double error = error_in_ulp(value, exact(static_cast<double>(x)));
    if (error > largest) {
      largest = error;
      at = x;
    }
    const int lane = static_cast<int>(__builtin_bit_cast(uint32_t, x) % lanes);
    vec others = splat(0.25f);
    others[lane] = x;
    lanes_agree = lanes_agree && same_bits(vector(others)[lane], value);
  };
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 509) check(from_bits(static_cast<uint32_t>(bits)));
  for (float x : {0.0f, -0.0f, infinity, -infinity, nan, from_bits(1), from_bits(0x80000001), from_bits(0x007fffff),
                  from_bits(0x00800000), from_bits(0x7f7fffff), from_bits(0xff7fffff), 1.0f, -1.0f})
    check(x);
  EXPECT_LE(largest, bound) << "at " << at << ": " << scalar(at) << " instead of " << exact(static_cast<double>(at));
  EXPECT_TRUE(lanes_agree) << "a lane of the vec form differs from the scalar form";
}

#define CHECK_ALL_EXPONENTS(name, exact, bound)                                       \
  check_all_exponents([](vec x) { return name(x); }, [](float x) { return name(x); }, \
                      [](double x) { return exact(x); }, bound)

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
  // Zero where the exact value is below 2^-127.5. The bound: an ulp of the exponential, half of one each of the sum and
  // the quotient, and twice as many of them where a sum is just above a power of two.
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

TEST(ISA_SUITE(Math), RarerFunctionsOfVectorsAreLibm) {
  for (float x : {-0.75f, 0.0f, 0.3f, 0.999f}) {
    EXPECT_EQ(sine(splat(x))[1], sine(x));
    EXPECT_EQ(cosine(splat(x))[1], cosine(x));
    EXPECT_EQ(tangent(splat(x))[1], tangent(x));
    EXPECT_EQ(arc_sine(splat(x))[1], arc_sine(x));
    EXPECT_EQ(arc_cosine(splat(x))[1], arc_cosine(x));
    EXPECT_EQ(arc_tangent(splat(x))[1], arc_tangent(x));
    EXPECT_EQ(hyperbolic_sine(splat(x))[1], hyperbolic_sine(x));
    EXPECT_EQ(hyperbolic_cosine(splat(x))[1], hyperbolic_cosine(x));
    EXPECT_EQ(arc_hyperbolic_sine(splat(x))[1], arc_hyperbolic_sine(x));
    EXPECT_EQ(arc_hyperbolic_cosine(splat(x + 2.0f))[1], arc_hyperbolic_cosine(x + 2.0f));
    EXPECT_EQ(arc_hyperbolic_tangent(splat(x))[1], arc_hyperbolic_tangent(x));
    EXPECT_NEAR(sine(x), std::sin(static_cast<double>(x)), 1e-7);
    EXPECT_NEAR(arc_hyperbolic_tangent(x), std::atanh(static_cast<double>(x)), 1e-6);
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
