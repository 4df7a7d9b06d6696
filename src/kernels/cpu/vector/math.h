// Elementary functions, named as the loop IR's scalar operations (ir/loops/loops.h): each for float, vec and double.
//
// float and vec share one text, free of branches and calls: a vec function gives the bits of the scalar one in each
// lane, and clang vectorises loops over the scalar ones. Every product that feeds a sum is written as fma, so that
// contraction cannot make the two differ. NaN, infinities, signed zeros and denormals are treated as C's functions
// treat them. double calls libm. More of them: trigonometry.h.
//
// Largest error over all floats, in units in the last place (held by tests/kernels/cpu/vector/math_test.cpp):
// exponential 1, logistic 2.5, logarithm 1, hyperbolic_tangent 2, error_function 1.5, power 0.51. The polynomials
// (except power's) are N. Juffa's minimax approximations for single precision with fma.
#pragma once

#include "kernels/cpu/vector/vector.h"

// Vectors of doubles are wider than a register of AVX2; all is inlined, so there is no call whose ABI could differ.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpsabi"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// ---- what lets one text serve float and vec

namespace detail {

typedef double vec_double __attribute__((ext_vector_type(lanes)));
typedef int64_t vec_int64 __attribute__((ext_vector_type(lanes)));
typedef uint64_t vec_uint64 __attribute__((ext_vector_type(lanes)));

[[gnu::always_inline]] inline uint32_t to_bits(float a) { return __builtin_bit_cast(uint32_t, a); }
[[gnu::always_inline]] inline vec_uint32 to_bits(vec a) { return __builtin_bit_cast(vec_uint32, a); }
[[gnu::always_inline]] inline uint64_t to_bits(double a) { return __builtin_bit_cast(uint64_t, a); }
[[gnu::always_inline]] inline vec_uint64 to_bits(vec_double a) { return __builtin_bit_cast(vec_uint64, a); }
[[gnu::always_inline]] inline float from_bits(uint32_t a) { return __builtin_bit_cast(float, a); }
[[gnu::always_inline]] inline vec from_bits(vec_uint32 a) { return __builtin_bit_cast(vec, a); }
[[gnu::always_inline]] inline double from_bits(uint64_t a) { return __builtin_bit_cast(double, a); }
[[gnu::always_inline]] inline vec_double from_bits(vec_uint64 a) { return __builtin_bit_cast(vec_double, a); }

[[gnu::always_inline]] inline int32_t to_signed(uint32_t a) { return static_cast<int32_t>(a); }
[[gnu::always_inline]] inline vec_mask to_signed(vec_uint32 a) { return __builtin_bit_cast(vec_mask, a); }
[[gnu::always_inline]] inline uint32_t to_unsigned(int32_t a) { return static_cast<uint32_t>(a); }
[[gnu::always_inline]] inline vec_uint32 to_unsigned(vec_mask a) { return __builtin_bit_cast(vec_uint32, a); }

[[gnu::always_inline]] inline float to_float(int32_t a) { return static_cast<float>(a); }
[[gnu::always_inline]] inline vec to_float(vec_mask a) { return __builtin_convertvector(a, vec); }
[[gnu::always_inline]] inline float to_float(double a) { return static_cast<float>(a); }
[[gnu::always_inline]] inline vec to_float(vec_double a) { return __builtin_convertvector(a, vec); }
[[gnu::always_inline]] inline double to_double(float a) { return static_cast<double>(a); }
[[gnu::always_inline]] inline vec_double to_double(vec a) { return __builtin_convertvector(a, vec_double); }

[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) { return fma(a, b, c); }
[[gnu::always_inline]] inline vec multiply_add(vec a, vec b, vec c) { return fma(a, b, c); }
[[gnu::always_inline]] inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
[[gnu::always_inline]] inline vec_double multiply_add(vec_double a, vec_double b, vec_double c) {
  return __builtin_elementwise_fma(a, b, c);
}

// Coefficients from the highest power down, by Horner's rule.
template <class Real, class First, class... Rest>
[[gnu::always_inline]] inline Real polynomial(Real x, First highest, Rest... others) {
  Real sum = Real(highest);
  ((sum = multiply_add(sum, x, Real(others))), ...);
  return sum;
}

inline constexpr uint32_t sign_bit = 0x80000000u;
inline constexpr float infinity = __builtin_inff();

template <class Real>
[[gnu::always_inline]] inline Real copy_sign(Real magnitude, Real sign) {
  return from_bits((to_bits(magnitude) & ~sign_bit) | (to_bits(sign) & sign_bit));
}

// ---- the functions' texts: Real is float or vec

// exp(sign * x) = 2^n * exp(sign * r), with n the integer nearest to sign * x / ln 2 and r the rest, at most ln(2) / 2.
// Returns exp(sign * r), and n + bias in the low nine bits of `n_bits`. The sign, 1 or -1, is part of the constants: a
// separate negation would cost an instruction, and another one if a bound is applied before it.
template <int sign, int bias, class Real, class Bits>
[[gnu::always_inline]] inline Real split_exponential(Real x, Bits& n_bits) {
  constexpr float round_to_integer = 0x1.8p23f + bias;  // a sum with it has the nearest integer in its low bits
  const Real shifted = multiply_add(x, Real(sign * 0x1.715476p0f), Real(round_to_integer));
  const Real n = shifted - round_to_integer;
  const Real r = multiply_add(n, Real(sign * -0x1.7f7d1cp-20f), multiply_add(n, Real(sign * -0x1.62e400p-1f), x));
  n_bits = to_bits(shifted) - to_bits(0x1.8p23f);
  return polynomial(r, 1.37805939e-3f, sign * 8.37312452e-3f, 4.16695364e-2f, sign * 1.66664720e-1f, 4.99999851e-1f,
                    sign * 1.0f, 1.0f);
}

// fraction * 2^n for an integer n.
[[gnu::always_inline]] inline float scaled(float fraction, uint32_t n) {
  // 2^n in two factors: the sum of their exponents may pass the range of floats.
  const int32_t exponent = to_signed(n), half = exponent >> 1;
  const float scale = from_bits((to_unsigned(half) + 127u) << 23);
  const float rest = from_bits((to_unsigned(exponent - half) + 127u) << 23);
  return fraction * scale * rest;
}
[[gnu::always_inline]] inline vec scaled(vec fraction, vec_uint32 n) {
#if defined(__AVX512F__)
  constexpr int rounds_to_nearest = 4;
  const vec number = to_float(to_signed(n));
  return __builtin_ia32_scalefps512_mask(fraction, number, vec(0.0f), 0xffff, rounds_to_nearest);
#else
  const vec_mask exponent = to_signed(n), half = exponent >> 1;
  const vec scale = from_bits((to_unsigned(half) + 127u) << 23);
  const vec rest = from_bits((to_unsigned(exponent - half) + 127u) << 23);
  return fraction * scale * rest;
#endif
}

template <class Real>
[[gnu::always_inline]] inline Real exponential(Real x) {
  // Beyond these bounds the result is infinity or zero; a NaN passes.
  const Real above = x < -104.0f ? Real(-104.0f) : x;
  const Real clamped = above > 89.0f ? Real(89.0f) : above;
  decltype(to_bits(x)) n;
  const Real fraction = split_exponential<1, 0>(clamped, n);
  return scaled(fraction, n);
}

// 1 / (1 + exp(-x)); a NaN passes. 2^n is one shift of the sum's bits: from n = 128 on, for which the result is below
// 2^-127, it is infinity and the result 0. The division takes a third of the time; a reciprocal by fma would take
// longer, since it shares its units with everything else.
template <class Real>
[[gnu::always_inline]] inline Real logistic(Real x) {
  constexpr float least = -88.8f, most = 87.0f;  // n is 128 and -126
  const Real above = x < least ? Real(least) : x;
  const Real clamped = above > most ? Real(most) : above;
  decltype(to_bits(x)) exponent;
  const Real fraction = split_exponential<-1, 127>(clamped, exponent);
  return Real(1.0f) / multiply_add(fraction, from_bits(exponent << 23), Real(1.0f));
}

// log(x) = e * log(2) + log1p(m), x = 2^e * (1 + m) and 1 + m in [2/3, 4/3).
template <class Real>
[[gnu::always_inline]] inline Real logarithm(Real x) {
  const auto is_denormal = x < 0x1p-126f;
  const Real normal = is_denormal ? x * 0x1p23f : x;
  const auto exponent = (to_bits(normal) - to_bits(0.666666667f)) & 0xff800000u;
  const Real m = from_bits(to_bits(normal) - exponent) - 1.0f;
  const Real e = multiply_add(to_float(to_signed(exponent)), Real(0x1p-23f), is_denormal ? Real(-23.0f) : Real(0.0f));
  const Real square = m * m;
  const Real even = polynomial(square, -0x1.0ae000p-3f, -0x1.f198b2p-4f, -0x1.55b36cp-3f, -0x1.fffe02p-3f);
  const Real odd = polynomial(square, 0x1.208000p-3f, 0x1.1e5740p-3f, 0x1.99d8b2p-3f);
  const Real series = polynomial(m, multiply_add(odd, m, even), 0x1.5554fap-2f, -0.5f);
  const Real result = multiply_add(e, Real(0x1.62e430p-1f), multiply_add(series, square, m));
  const Real of_zero_or_infinity = x == 0.0f ? Real(-infinity) : x;
  const Real special = x < 0.0f ? Real(__builtin_nanf("")) : of_zero_or_infinity;
  return ((x > 0.0f) & (x < infinity)) ? result : special;  // x itself if it is infinite or NaN
}

// Near zero an odd polynomial, else 1 - 2 / (exp(2 |x|) + 1).
template <class Real>
[[gnu::always_inline]] inline Real hyperbolic_tangent(Real x) {
  const Real magnitude = absolute(x);
  const Real clamped = magnitude > 10.0f ? Real(10.0f) : magnitude;  // beyond it is 1
  decltype(to_bits(x)) exponent;
  const Real fraction = split_exponential<1, 127>(clamped + clamped, exponent);
  const Real far = 1.0f - 2.0f / multiply_add(fraction, from_bits(exponent << 23), Real(1.0f));
  const Real square = x * x;
  const Real series = polynomial(square, 0x1.01e000p-6f, -0x1.ac766ap-5f, 0x1.10b23ep-3f, -0x1.5553dap-2f, 0.0f);
  return magnitude >= 0.55f ? copy_sign(far, x) : multiply_add(series, x, x);
}

// Near zero an odd polynomial, else one of the magnitude, scaled to [-1, 1] from the end of the other to the point at
// which the result is 1. Both are chains of multiply-adds, 20 in all; 1 - exp(polynomial) took 28 operations. The
// second is a minimax fit with an error of 2^-25 that is 1 at its end, and so is what it gives beyond.
template <class Real>
[[gnu::always_inline]] inline Real error_function(Real x) {
  constexpr float last_near = 0.927734375f, one_from = 3.925f;
  const Real magnitude = absolute(x);
  const Real square = x * x;
  const Real clamped = magnitude > one_from ? Real(one_from) : magnitude;
  const Real place = multiply_add(clamped, Real(0x1.55a50cp-1f), Real(-0x1.9e7a50p+0f));
  const Real far = polynomial(place, 0x1.840ae0p-12f, -0x1.c379a4p-14f, -0x1.388974p-9f, 0x1.6dac74p-9f, 0x1.025606p-8f,
                              -0x1.96ca72p-7f, 0x1.73630cp-7f, 0x1.89550ap-8f, -0x1.192bccp-5f, 0x1.ca4e46p-5f,
                              -0x1.cb0a0cp-5f, 0x1.36127ep-5f, -0x1.17860ap-6f, 0x1.337a6cp-8f, 0x1.ffb14cp-1f);
  const Real near = polynomial(square, -0x1.38e000p-11f, 0x1.471a58p-8f, -0x1.b691b2p-6f, 0x1.ce1c44p-4f,
                               -0x1.812700p-2f, 0x1.06eba8p-3f);
  return magnitude > last_near ? copy_sign(far, x) : multiply_add(near, x, x);
}

// log2 of a positive float, infinity and zero too, with a relative error below 2^-35.
template <class Double>
[[gnu::always_inline]] inline Double logarithm2(Double x) {
  // x = 2^e * m, m in [2/3, 4/3); log2(m) = 2 / ln(2) * atanh(s), s = (m - 1) / (m + 1).
  const auto exponent = (to_bits(x) - to_bits(0x1.5555555555555p-1)) & 0xfff0000000000000u;
  const Double m = from_bits(to_bits(x) - exponent);
  // The exponent as a number, without a conversion of 64-bit integers, which AVX2 lacks: it stands in the low bits.
  constexpr double shifter = 0x1.8p52;
  const Double e = from_bits(to_bits(shifter) + ((exponent >> 52) ^ 0x800u)) - (shifter + 2048.0);
  const Double s = (m - 1.0) / (m + 1.0);
  const Double series =
      polynomial(s * s, 0x1.89f3b1694cffep-3, 0x1.c68f568d31760p-3, 0x1.0c9a84994022dp-2, 0x1.484b13d7c02a9p-2,
                 0x1.a61762a7aded9p-2, 0x1.2776c50ef9bfep-1, 0x1.ec709dc3a03fdp-1, 0x1.71547652b82fep+1);
  const Double result = multiply_add(series, s, e);
  const Double special = x == 0.0 ? Double(-__builtin_inf()) : x;
  return ((x > 0.0) & (x < __builtin_inf())) ? result : special;
}

// 2^x, with a relative error below 2^-35.
template <class Double>
[[gnu::always_inline]] inline Double wide_exponential2(Double x) {
  constexpr double round_to_integer = 0x1.8p52;
  const Double above = x < -200.0 ? Double(-200.0) : x;
  const Double clamped = above > 200.0 ? Double(200.0) : above;
  const Double shifted = clamped + round_to_integer;
  const Double r = clamped - (shifted - round_to_integer);
  const Double fraction = polynomial(r, 0x1.62c0223a5c822p-20, 0x1.ffcbfc588b0c5p-17, 0x1.430912f86c786p-13,
                                     0x1.5d87fe78a6730p-10, 0x1.3b2ab6fba4e77p-7, 0x1.c6b08d704a0bfp-5,
                                     0x1.ebfbdff82c58ep-3, 0x1.62e42fefa39efp-1, 0x1.0000000000000p+0);
  const auto exponent = to_bits(shifted) - to_bits(round_to_integer);
  return fraction * from_bits((exponent + 1023u) << 52);
}

// pow(x, y) = 2^(y * log2 |x|) in double, signed and amended as C's Annex F says.
template <class Real>
[[gnu::always_inline]] inline Real power(Real x, Real y) {
  const Real magnitude = to_float(wide_exponential2(to_double(y) * logarithm2(to_double(absolute(x)))));
  const auto y_is_integer = __builtin_elementwise_trunc(y) == y;
  const auto y_is_odd = y_is_integer & (__builtin_elementwise_trunc(y * 0.5f) != y * 0.5f);
  const auto x_is_negative = to_signed(to_bits(x)) < 0;
  const Real with_sign = (y_is_odd & x_is_negative) ? -magnitude : magnitude;
  const Real real = ((x < 0.0f) & (x > -infinity) & (y_is_integer == 0)) ? Real(__builtin_nanf("")) : with_sign;
  // 1 to any power, anything to the power 0 and -1 to an infinite power are 1, NaN or not.
  const auto is_one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (absolute(y) == infinity));
  return is_one ? Real(1.0f) : real;
}

[[gnu::noinline]] inline float modulo_by_libm(float a, float b) { return __builtin_fmodf(a, b); }

// `function` of each lane.
template <class Function, class... Vectors>
[[gnu::always_inline]] inline vec each_lane(Function function, vec a, Vectors... others) {
  for (int i = 0; i < lanes; ++i) a[i] = function(a[i], others[i]...);
  return a;
}

}  // namespace detail

// ---- the functions

[[gnu::always_inline]] inline float exponential(float a) { return detail::exponential(a); }
[[gnu::always_inline]] inline vec exponential(vec a) { return detail::exponential(a); }
[[gnu::always_inline]] inline double exponential(double a) { return __builtin_exp(a); }

[[gnu::always_inline]] inline float logistic(float a) { return detail::logistic(a); }
[[gnu::always_inline]] inline vec logistic(vec a) { return detail::logistic(a); }
[[gnu::always_inline]] inline double logistic(double a) { return 1.0 / (1.0 + __builtin_exp(-a)); }

[[gnu::always_inline]] inline float logarithm(float a) { return detail::logarithm(a); }
[[gnu::always_inline]] inline vec logarithm(vec a) { return detail::logarithm(a); }
[[gnu::always_inline]] inline double logarithm(double a) { return __builtin_log(a); }

[[gnu::always_inline]] inline float hyperbolic_tangent(float a) { return detail::hyperbolic_tangent(a); }
[[gnu::always_inline]] inline vec hyperbolic_tangent(vec a) { return detail::hyperbolic_tangent(a); }
[[gnu::always_inline]] inline double hyperbolic_tangent(double a) { return __builtin_tanh(a); }

[[gnu::always_inline]] inline float error_function(float a) { return detail::error_function(a); }
[[gnu::always_inline]] inline vec error_function(vec a) { return detail::error_function(a); }
[[gnu::always_inline]] inline double error_function(double a) { return __builtin_erf(a); }

[[gnu::always_inline]] inline float power(float a, float b) { return detail::power(a, b); }
[[gnu::always_inline]] inline vec power(vec a, vec b) { return detail::power(a, b); }
[[gnu::always_inline]] inline double power(double a, double b) { return __builtin_pow(a, b); }

[[gnu::always_inline]] inline float floor(float a) { return __builtin_elementwise_floor(a); }
[[gnu::always_inline]] inline vec floor(vec a) { return __builtin_elementwise_floor(a); }
[[gnu::always_inline]] inline double floor(double a) { return __builtin_elementwise_floor(a); }

[[gnu::always_inline]] inline float ceil(float a) { return __builtin_elementwise_ceil(a); }
[[gnu::always_inline]] inline vec ceil(vec a) { return __builtin_elementwise_ceil(a); }
[[gnu::always_inline]] inline double ceil(double a) { return __builtin_elementwise_ceil(a); }

[[gnu::always_inline]] inline float round_even(float a) { return __builtin_elementwise_roundeven(a); }
[[gnu::always_inline]] inline vec round_even(vec a) { return __builtin_elementwise_roundeven(a); }
[[gnu::always_inline]] inline double round_even(double a) { return __builtin_elementwise_roundeven(a); }

[[gnu::always_inline]] inline float truncate(float a) { return __builtin_elementwise_trunc(a); }
[[gnu::always_inline]] inline vec truncate(vec a) { return __builtin_elementwise_trunc(a); }
[[gnu::always_inline]] inline double truncate(double a) { return __builtin_elementwise_trunc(a); }

[[gnu::always_inline]] inline double absolute(double a) { return __builtin_fabs(a); }
[[gnu::always_inline]] inline double square_root(double a) { return __builtin_elementwise_sqrt(a); }
// fmod: the sign of a. A quotient below 2^29 times b is exact in double; one that was rounded up to a whole number
// leaves less than nothing. Larger quotients, which are rare, are left to libm.
[[gnu::always_inline]] inline float modulo_truncate(float a, float b) {
  const double x = __builtin_fabs(a), y = __builtin_fabs(b);
  if (__builtin_expect(!((x < y * 0x1p29) & (y < __builtin_inf())), 0)) return detail::modulo_by_libm(a, b);
  const double rest = __builtin_fma(-__builtin_elementwise_trunc(x / y), y, x);
  return __builtin_copysignf(static_cast<float>(rest < 0.0 ? rest + y : rest), a);
}
[[gnu::always_inline]] inline vec modulo_truncate(vec a, vec b) {
  return detail::each_lane([](float x, float y) { return modulo_truncate(x, y); }, a, b);
}
[[gnu::always_inline]] inline double modulo_truncate(double a, double b) { return __builtin_fmod(a, b); }

// With the sign of b. Not by the function of all types (shared/scalar.h), which may stand before the ones above.
[[gnu::always_inline]] inline float modulo_floor(float a, float b) {
  const float rest = modulo_truncate(a, b);
  return ((rest != 0.0f) & ((rest < 0.0f) != (b < 0.0f))) ? rest + b : rest;
}
[[gnu::always_inline]] inline double modulo_floor(double a, double b) {
  const double rest = modulo_truncate(a, b);
  return ((rest != 0.0) & ((rest < 0.0) != (b < 0.0))) ? rest + b : rest;
}

// Functions that are trivial for a scalar, written out for vec.
[[gnu::always_inline]] inline vec negate(vec a) { return -a; }
[[gnu::always_inline]] inline vec reciprocal(vec a) { return 1.0f / a; }
[[gnu::always_inline]] inline vec sign(vec a) {  // of a NaN: 0
  return a > 0.0f ? vec(1.0f) : (a < 0.0f ? vec(-1.0f) : vec(0.0f));
}
[[gnu::always_inline]] inline vec modulo_floor(vec a, vec b) {
  const vec rest = modulo_truncate(a, b);
  return ((rest != 0.0f) & ((rest < 0.0f) != (b < 0.0f))) ? rest + b : rest;
}
[[gnu::always_inline]] inline vec_mask is_nan(vec a) { return a != a; }
[[gnu::always_inline]] inline vec_mask is_infinite(vec a) { return absolute(a) == detail::infinity; }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

#pragma clang diagnostic pop
