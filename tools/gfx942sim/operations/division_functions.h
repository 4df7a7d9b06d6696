// The three steps of a division on gfx942 that are not plain arithmetic: v_div_scale, v_div_fmas and v_div_fixup, of
// single values.
#pragma once

#include "gfx942sim/operations/float_functions.h"
#include "gfx942sim/operations/vector_operation.h"

namespace gfx942sim {

// Scales a and b so that the steps of a division neither overflow nor lose bits; the flag tells v_div_fmas to scale
// back. From the ISA guide, read so that quotients come out right: s0 is the value to scale, s1 the denominator, s2 the
// numerator.
template <class T>
WithFlag<T> division_scale(T s0, T s1, T s2) {
  constexpr int scale = sizeof(T) == 8 ? 128 : 64;
  constexpr int far = sizeof(T) == 8 ? 768 : 96;
  constexpr int tiny = mantissa_bits<T> + (sizeof(T) == 8 ? 1 : 0);
  auto is_denormal = [](auto value) { return value != 0 && std::fpclassify(value) == FP_SUBNORMAL; };
  const bool same_denominator = s0 == s1, same_numerator = s0 == s2;
  if (s2 == 0 || s1 == 0) return {std::numeric_limits<T>::quiet_NaN(), false};
  if (biased_exponent(s2) - biased_exponent(s1) >= far) return {same_denominator ? ldexp_of(s0, scale) : s0, true};
  if (is_denormal(s1)) return {ldexp_of(s0, scale), false};
  const bool tiny_reciprocal = is_denormal(static_cast<T>(1 / s1)),
             tiny_quotient = is_denormal(static_cast<T>(s2 / s1));
  if (tiny_reciprocal && tiny_quotient) return {same_denominator ? ldexp_of(s0, -scale) : s0, true};
  if (tiny_reciprocal) return {ldexp_of(s0, -scale), false};
  if (tiny_quotient) return {same_numerator ? ldexp_of(s0, scale) : s0, true};
  if (biased_exponent(s2) <= tiny) return {ldexp_of(s0, scale), false};
  return {s0, false};
}

// (a * b + c) * 2^exponent, rounded once. The sum has 113 bits, the last of them set if more follow ("to odd"), so that
// the second rounding is as if it were the first.
template <class T>
T scaled_multiply_add(T a, T b, T c, int exponent) {
  using Wide = __float128;
  const Wide product = Wide{a} * Wide{b}, sum = product + Wide{c};
  const Wide added = sum - product, rest = (product - (sum - added)) + (Wide{c} - added);
  auto bits = std::bit_cast<unsigned __int128>(sum);
  if (std::isfinite(static_cast<double>(rest)) && rest != 0 && (bits & 1) == 0)
    bits = (rest > 0) == (sum > 0) ? bits + 1 : bits - 1;
  return static_cast<T>(std::bit_cast<Wide>(bits) * Wide{std::ldexp(1.0, exponent)});
}

// v_div_fmas of a lane whose VCC bit is set. A large quotient had its denominator scaled up, a small one its numerator.
// The guide's text scales what was rounded before; a quotient that is denormal would be off by a unit then, but LLVM
// emits these steps for its fdiv, which must be correctly rounded: the hardware rounds once.
template <class T>
T division_fmas(T a, T b, T c) {
  constexpr int scale = sizeof(T) == 8 ? 128 : 64, bias = sizeof(T) == 8 ? 1023 : 127;
  return scaled_multiply_add(a, b, c, biased_exponent(c) > bias ? scale : -scale);
}

// Puts right the special cases after the steps of a division: quotient, denominator, numerator. It follows the ISA
// guide's pseudo-code (V_DIV_FIXUP_F16, _F32, _F64), but for two things that it leaves open: the result if the quotient
// lies below all denormals, and an estimate of NaN, which a quotient beyond the largest number leaves. For both,
// tinygrad's tests, which were confirmed on a gfx1100, and gem5's model of this family agree with this code.
template <class T>
T division_fixup(T quotient, T denominator, T numerator) {
  const bool negative = sign_bit(denominator) != sign_bit(numerator);
  auto with_sign = [&](T magnitude) { return negative ? -magnitude : magnitude; };
  const T infinity = static_cast<T>(std::numeric_limits<double>::infinity());
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  const bool infinite_numerator = numerator == infinity || numerator == -infinity;
  const bool infinite_denominator = denominator == infinity || denominator == -infinity;
  if ((numerator == 0 && denominator == 0) || (infinite_numerator && infinite_denominator))
    return static_cast<T>(std::numeric_limits<double>::quiet_NaN());
  if (denominator == 0 || infinite_numerator) return with_sign(infinity);
  if (infinite_denominator || numerator == 0) return with_sign(static_cast<T>(0));
  const T magnitude = sign_bit(quotient) ? -quotient : quotient;
  if constexpr (sizeof(T) == 2) return is_nan(quotient) ? quotient : with_sign(magnitude);
  constexpr int least_difference = sizeof(T) == 8 ? -1075 : -150;
  if (biased_exponent(numerator) - biased_exponent(denominator) < least_difference) return with_sign(static_cast<T>(0));
  return with_sign(is_nan(quotient) ? infinity : magnitude);
}

}  // namespace gfx942sim
