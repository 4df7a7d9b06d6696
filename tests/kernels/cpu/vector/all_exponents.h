// Elementary functions against libm in double precision, over floats of all exponents.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

inline float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline bool same_bits(float a, float b) {
  return __builtin_bit_cast(uint32_t, a) == __builtin_bit_cast(uint32_t, b) || (std::isnan(a) && std::isnan(b));
}

// The distance in units of the last place that `exact` has as a float, denormal numbers too.
inline double error_in_ulp(float value, double exact) {
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

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
