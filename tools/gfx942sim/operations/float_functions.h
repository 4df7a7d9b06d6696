// Arithmetic of single values as gfx942 does itif it differs from C++.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gfx942sim {

template <class T>
using FloatBits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <class T>
inline constexpr int mantissa_bits = sizeof(T) == 8   ? 52
                                     : sizeof(T) == 4 ? 23
                                                      : 10;

template <class T>
bool is_nan(T value) {
  return value != value;
}

template <class T>
T quiet(T value) {
  return std::bit_cast<T>(
      static_cast<FloatBits<T>>(std::bit_cast<FloatBits<T>>(value) | FloatBits<T>{1} << (mantissa_bits<T> - 1)));
}

template <class T>
bool is_signaling(T value) {
  return is_nan(value) && !(std::bit_cast<FloatBits<T>>(value) >> (mantissa_bits<T> - 1) & 1);
}

template <class T>
bool sign_bit(T value) {
  return std::bit_cast<FloatBits<T>>(value) >> (8 * sizeof(T) - 1);
}

// Minimum and maximum in IEEE mode, which HIP kernels run in: a signaling NaN comes out quiet, a quiet one gives way to
// a number, and -0 is below +0.
template <class T>
T minimum(T a, T b) {
  if (is_signaling(a)) return quiet(a);
  if (is_signaling(b)) return quiet(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (a == b) return sign_bit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
T maximum(T a, T b) {
  if (is_signaling(a)) return quiet(a);
  if (is_signaling(b)) return quiet(b);
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (a == b) return sign_bit(a) ? b : a;
  return a > b ? a : b;
}

template <class T>
T median(T a, T b, T c) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return minimum(minimum(a, b), c);
  return maximum(minimum(a, b), minimum(maximum(a, b), c));
}

// a * b + c with one rounding. The product of two halves is exact in double, and no tie of a half lies beyond its 53
// bits.
inline float fused_multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline double fused_multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
inline _Float16 fused_multiply_add(_Float16 a, _Float16 b, _Float16 c) {
  return static_cast<_Float16>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
}

template <class T>
int biased_exponent(T value) {
  return static_cast<int>(std::bit_cast<FloatBits<T>>(value) >> mantissa_bits<T>) &
         static_cast<int>((1 << (8 * sizeof(T) - 1 - mantissa_bits<T>)) - 1);
}

template <class T>
T ldexp_of(T value, int exponent) {
  // Beyond these every finite value is 0 or infinite.
  return static_cast<T>(std::ldexp(static_cast<double>(value), std::clamp(exponent, -2200, 2200)));
}

// Conversion to an integer: towards zero, out of range to the nearest end, NaN to zero.
template <class Integer, class T>
Integer saturate(T value) {
  if (is_nan(value)) return 0;
  const double wide = std::trunc(static_cast<double>(value));
  if (wide <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
  if (wide >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(wide);
}

// IEEE classes as v_cmp_class tests them, one bit each.
template <class T>
uint32_t class_bit(T value) {
  const bool negative = sign_bit(value);
  if (is_nan(value)) return is_signaling(value) ? 1 << 0 : 1 << 1;
  const double wide = static_cast<double>(value);
  if (std::isinf(wide)) return negative ? 1 << 2 : 1 << 9;
  if (value == 0) return negative ? 1 << 5 : 1 << 6;
  if (biased_exponent(value) == 0) return negative ? 1 << 4 : 1 << 7;
  return negative ? 1 << 3 : 1 << 8;
}

// Half to float to half, without the round trip's cost of a library call.
inline float widen(_Float16 value) { return static_cast<float>(value); }
inline _Float16 half_bits(uint16_t bits) { return std::bit_cast<_Float16>(bits); }
inline uint16_t bits_of_half(_Float16 value) { return std::bit_cast<uint16_t>(value); }

inline float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Rounded to the nearest, ties to even.
inline uint16_t to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (is_nan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Float to half, rounded towards zero.
inline _Float16 to_half_toward_zero(float value) {
  const auto rounded = static_cast<_Float16>(value);
  const float back = static_cast<float>(rounded);
  if (is_nan(value) || std::fabs(back) <= std::fabs(value)) return rounded;
  return half_bits(static_cast<uint16_t>(bits_of_half(rounded) - 1));
}

}  // namespace gfx942sim
