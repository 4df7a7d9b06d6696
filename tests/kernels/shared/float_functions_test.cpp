// Against the host's library in float64: every special value, every power of two, and numbers between.
#include "kernels/shared/float_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace onnxc::kernels {
namespace {

// Both signs of zero, infinity, NaN, and of some mantissas at each exponent; subnormal numbers are those of the first.
std::vector<float> numbers() {
  std::vector<float> result;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (const uint32_t mantissa : {0x0u, 0x1u, 0x2u, 0x2aaaaau, 0x400000u, 0x5555abu, 0x7fffffu})
      for (const uint32_t sign : {0u, 1u << 31})
        result.push_back(std::bit_cast<float>(sign | exponent << 23 | mantissa));
  return result;
}

// The error in units of the last place of a float, which are 2^-149 for subnormal ones.
double units(float found, double right) {
  const int exponent = std::max(std::ilogb(right), -126);
  return std::abs(found - right) / std::ldexp(1.0, exponent - 23);
}

void expect_exponential(float a) {
  const float found = exponential_of_float(a);
  const double right = std::exp(static_cast<double>(a));
  if (std::isnan(a)) {
    EXPECT_TRUE(std::isnan(found)) << a;
  } else if (right == 0.0 || std::isinf(static_cast<float>(right))) {
    EXPECT_EQ(found, static_cast<float>(right)) << a;
  } else {
    EXPECT_LE(units(found, right), 1.01) << a;
  }
}

TEST(FloatFunctions, TheExponentialIsWithinOneUnitAlsoIfSubnormal) {
  for (const float a : numbers()) expect_exponential(a);
  for (float a = -104.5f; a < 89.5f; a += 0.0009765f) expect_exponential(a);
  EXPECT_EQ(exponential_of_float(-100.0f), static_cast<float>(std::exp(-100.0)));
  EXPECT_GT(exponential_of_float(-103.9f), 0.0f);
  EXPECT_EQ(exponential_of_float(0.0f), 1.0f);
}

TEST(FloatFunctions, TheRemainderIsExactToTheBit) {
  const std::vector<float> all = numbers();
  for (const float a : all)
    for (size_t i = 0; i < all.size(); i += 9) {
      const float b = all[i];
      const float found = modulo_of_floats(a, b), right = std::fmod(a, b);
      if (std::isnan(right))
        EXPECT_TRUE(std::isnan(found)) << a << " " << b;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(right)) << a << " " << b;
    }
  EXPECT_EQ(modulo_of_floats(0x3p-149f, 0x2p-149f), std::numeric_limits<float>::denorm_min());
}

}  // namespace
}  // namespace onnxc::kernels
