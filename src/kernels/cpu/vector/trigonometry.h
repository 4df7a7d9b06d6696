// The trigonometric and hyperbolic functions and their inverses, as those of math.h: each for float, vec and double, a
// lane of a vec with the bits of the scalar form.
//
// float and vec compute in double and round once: minimax polynomials with relative errors below 2^-31, and the
// exponential and logarithm of `power`. The largest error over all floats is 0.51 units in the last place; of sine,
// cosine and tangent next to multiples of pi/2 it may be 1 (tests/kernels/cpu/vector/trigonometry_test.cpp). There is
// neither a branch nor a table: an argument of any size takes the same time, and clang vectorises loops over the scalar
// forms. double calls libm.
#pragma once

#include "kernels/cpu/vector/math.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpsabi"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

namespace detail {

inline constexpr double half_pi = 0x1.921fb54442d18p+0, ln_2 = 0x1.62e42fefa39efp-1, log2_e = 0x1.71547652b82fep+0;

template <class Double>
[[gnu::always_inline]] inline Double fraction_of_turn(Double turns) {
  return turns - __builtin_elementwise_roundeven(turns);
}

// The sine and cosine of what is left of x when multiples of pi/2 are taken off, and their number modulo 4.
template <class Double>
struct ReducedAngle {
  Double sine, cosine;
  decltype(to_bits(Double{})) quadrant;
};

// x / (2 pi) without its whole part: 1 / (2 pi) in pieces of 29 bits, whose products with a float are exact.
template <class Double>
[[gnu::always_inline]] inline ReducedAngle<Double> reduced_angle(Double x) {
  Double turns = fraction_of_turn(x * 0x1.45f306ep-3);
  turns += fraction_of_turn(x * -0x1.b1bbeadp-34);
  turns += fraction_of_turn(x * -0x1.80f62a1p-64);
  turns += fraction_of_turn(x * 0x1.1f534dep-94);
  turns += fraction_of_turn(x * -0x1.f924eb5p-125);
  turns = multiply_add(x, Double(-0x1.9b0ef1bef8080p-156), turns);
  constexpr double round_to_integer = 0x1.8p52;
  const Double shifted = multiply_add(turns, Double(4.0), Double(round_to_integer));
  const Double r = multiply_add(turns, Double(4.0), round_to_integer - shifted) * half_pi;
  const Double square = r * r;
  const Double sine_series =
      polynomial(square, 0x1.6cd1f239af3c1p-19, -0x1.a00f7f265b45cp-13, 0x1.1111086a5d0a9p-7, -0x1.5555554c71c7fp-3);
  const Double cosine_series = polynomial(square, -0x1.23c97c2c25ec1p-22, 0x1.a00eb9a0e9f10p-16, -0x1.6c16b3489acc7p-10,
                                          0x1.55555545c4d37p-5, -0x1.ffffffffe98a4p-2);
  return {multiply_add(sine_series, square * r, r), multiply_add(cosine_series, square, Double(1.0)), to_bits(shifted)};
}

// sin(x + quarters * pi/2)
template <int quarters, class Real>
[[gnu::always_inline]] inline Real shifted_sine(Real x) {
  const auto angle = reduced_angle(to_double(x));
  const auto quadrant = angle.quadrant + static_cast<uint64_t>(quarters);
  const auto magnitude = (quadrant & 1u) != 0u ? angle.cosine : angle.sine;
  return to_float(from_bits(to_bits(magnitude) ^ ((quadrant & 2u) << 62)));
}

template <class Real>
[[gnu::always_inline]] inline Real tangent(Real x) {
  const auto angle = reduced_angle(to_double(x));
  const auto is_odd = (angle.quadrant & 1u) != 0u;
  return to_float((is_odd ? -angle.cosine : angle.sine) / (is_odd ? angle.sine : angle.cosine));
}

// asin of the square root of `square`, `root`, at most 1/2.
template <class Double>
[[gnu::always_inline]] inline Double arc_sine_series(Double root, Double square) {
  const Double series =
      polynomial(square, 0x1.1bd320933d3efp-5, 0x1.ec2085d3abc50p-8, 0x1.931ff19c32a53p-6, 0x1.ed5d08c1cd79bp-6,
                 0x1.6ddac0914af6fp-5, 0x1.3332aa02c0383p-4, 0x1.55555605d3355p-3);
  return multiply_add(series, square * root, root);
}

// Above 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). Above 1 the root is NaN.
template <class Real>
[[gnu::always_inline]] inline Real arc_sine(Real x) {
  const auto magnitude = to_double(absolute(x));
  const auto is_far = magnitude > 0.5;
  const auto square = is_far ? (1.0 - magnitude) * 0.5 : magnitude * magnitude;
  const auto series = arc_sine_series(is_far ? __builtin_elementwise_sqrt(square) : magnitude, square);
  return copy_sign(to_float(is_far ? half_pi - 2.0 * series : series), x);
}

template <class Real>
[[gnu::always_inline]] inline Real arc_cosine(Real x) {
  const auto wide = to_double(x);
  const auto magnitude = wide < 0.0 ? -wide : wide;
  const auto is_far = magnitude > 0.5;
  const auto square = is_far ? (1.0 - magnitude) * 0.5 : magnitude * magnitude;
  const auto series = arc_sine_series(is_far ? __builtin_elementwise_sqrt(square) : wide, square);
  const auto far = wide < 0.0 ? 2.0 * half_pi - 2.0 * series : 2.0 * series;
  return to_float(is_far ? far : half_pi - series);
}

// Above 1: atan(x) = pi/2 - atan(1 / x).
template <class Real>
[[gnu::always_inline]] inline Real arc_tangent(Real x) {
  const auto magnitude = to_double(absolute(x));
  const auto is_far = magnitude > 1.0;
  const auto z = is_far ? 1.0 / magnitude : magnitude;
  const auto square = z * z;
  const auto coefficients =
      polynomial(square, 0x1.23fc85ca64ad8p-10, -0x1.df9ad68342a42p-8, 0x1.714ce9a84dcbcp-6, -0x1.6e1a8f4b9af4cp-5,
                 0x1.14230f37c4ab7p-4, -0x1.68e717ba9b81ep-4, 0x1.c4f1e66a2cdd8p-4, -0x1.247373bb294b2p-3,
                 0x1.9997e031b727fp-3, -0x1.55555103fd07ep-2);
  const auto series = multiply_add(coefficients, square * z, z);
  return copy_sign(to_float(is_far ? half_pi - series : series), x);
}

template <class Real>
[[gnu::always_inline]] inline Real hyperbolic_sine(Real x) {
  const auto magnitude = to_double(absolute(x));
  const auto power = wide_exponential2(magnitude * log2_e);
  const auto square = magnitude * magnitude;
  const auto series = polynomial(square, 0x1.a2e0faec4da0ep-13, 0x1.110f75e57ccc4p-7, 0x1.555556631d2e8p-3);
  const auto near = multiply_add(series, square * magnitude, magnitude);
  return copy_sign(to_float(magnitude > 0.5 ? (power - 1.0 / power) * 0.5 : near), x);
}

template <class Real>
[[gnu::always_inline]] inline Real hyperbolic_cosine(Real x) {
  const auto power = wide_exponential2(to_double(absolute(x)) * log2_e);
  return to_float((power + 1.0 / power) * 0.5);
}

// If the argument of the logarithm is too near to 1, the first terms of the series.
template <class Real>
[[gnu::always_inline]] inline Real arc_hyperbolic_sine(Real x) {
  using Wide = decltype(to_double(x));
  const Wide magnitude = to_double(absolute(x));
  const Wide square = magnitude * magnitude;
  const Wide near = multiply_add(polynomial(square, 0.075, -0x1.5555555555555p-3), square * magnitude, magnitude);
  const auto root = __builtin_elementwise_sqrt(multiply_add(magnitude, magnitude, Wide(1.0)));
  const auto far = logarithm2(magnitude + root) * ln_2;
  return copy_sign(to_float(magnitude < 0x1p-6 ? near : far), x);
}

template <class Real>
[[gnu::always_inline]] inline Real arc_hyperbolic_cosine(Real x) {
  const auto wide = to_double(x);
  const auto result = logarithm2(wide + __builtin_elementwise_sqrt((wide - 1.0) * (wide + 1.0))) * ln_2;
  return x < 1.0f ? Real(__builtin_nanf("")) : to_float(result);
}

template <class Real>
[[gnu::always_inline]] inline Real arc_hyperbolic_tangent(Real x) {
  const auto magnitude = to_double(absolute(x));
  const auto square = magnitude * magnitude;
  const auto near = multiply_add(polynomial(square, 0.2, 0x1.5555555555555p-2), square * magnitude, magnitude);
  const auto far = logarithm2((1.0 + magnitude) / (1.0 - magnitude)) * (0.5 * ln_2);
  const Real result = copy_sign(to_float(magnitude < 0x1p-6 ? near : far), x);
  return absolute(x) > 1.0f ? Real(__builtin_nanf("")) : result;
}

// The sign of zero is the argument's.
template <class Real>
[[gnu::always_inline]] inline Real keep_zero(Real x, Real result) {
  return x == 0.0f ? x : result;
}

}  // namespace detail

[[gnu::always_inline]] inline float sine(float a) { return detail::keep_zero(a, detail::shifted_sine<0>(a)); }
[[gnu::always_inline]] inline vec sine(vec a) { return detail::keep_zero(a, detail::shifted_sine<0>(a)); }
[[gnu::always_inline]] inline double sine(double a) { return __builtin_sin(a); }

[[gnu::always_inline]] inline float cosine(float a) { return detail::shifted_sine<1>(a); }
[[gnu::always_inline]] inline vec cosine(vec a) { return detail::shifted_sine<1>(a); }
[[gnu::always_inline]] inline double cosine(double a) { return __builtin_cos(a); }

[[gnu::always_inline]] inline float tangent(float a) { return detail::keep_zero(a, detail::tangent(a)); }
[[gnu::always_inline]] inline vec tangent(vec a) { return detail::keep_zero(a, detail::tangent(a)); }
[[gnu::always_inline]] inline double tangent(double a) { return __builtin_tan(a); }

[[gnu::always_inline]] inline float arc_sine(float a) { return detail::arc_sine(a); }
[[gnu::always_inline]] inline vec arc_sine(vec a) { return detail::arc_sine(a); }
[[gnu::always_inline]] inline double arc_sine(double a) { return __builtin_asin(a); }

[[gnu::always_inline]] inline float arc_cosine(float a) { return detail::arc_cosine(a); }
[[gnu::always_inline]] inline vec arc_cosine(vec a) { return detail::arc_cosine(a); }
[[gnu::always_inline]] inline double arc_cosine(double a) { return __builtin_acos(a); }

[[gnu::always_inline]] inline float arc_tangent(float a) { return detail::arc_tangent(a); }
[[gnu::always_inline]] inline vec arc_tangent(vec a) { return detail::arc_tangent(a); }
[[gnu::always_inline]] inline double arc_tangent(double a) { return __builtin_atan(a); }

[[gnu::always_inline]] inline float hyperbolic_sine(float a) { return detail::hyperbolic_sine(a); }
[[gnu::always_inline]] inline vec hyperbolic_sine(vec a) { return detail::hyperbolic_sine(a); }
[[gnu::always_inline]] inline double hyperbolic_sine(double a) { return __builtin_sinh(a); }

[[gnu::always_inline]] inline float hyperbolic_cosine(float a) { return detail::hyperbolic_cosine(a); }
[[gnu::always_inline]] inline vec hyperbolic_cosine(vec a) { return detail::hyperbolic_cosine(a); }
[[gnu::always_inline]] inline double hyperbolic_cosine(double a) { return __builtin_cosh(a); }

[[gnu::always_inline]] inline float arc_hyperbolic_sine(float a) { return detail::arc_hyperbolic_sine(a); }
[[gnu::always_inline]] inline vec arc_hyperbolic_sine(vec a) { return detail::arc_hyperbolic_sine(a); }
[[gnu::always_inline]] inline double arc_hyperbolic_sine(double a) { return __builtin_asinh(a); }

[[gnu::always_inline]] inline float arc_hyperbolic_cosine(float a) { return detail::arc_hyperbolic_cosine(a); }
[[gnu::always_inline]] inline vec arc_hyperbolic_cosine(vec a) { return detail::arc_hyperbolic_cosine(a); }
[[gnu::always_inline]] inline double arc_hyperbolic_cosine(double a) { return __builtin_acosh(a); }

[[gnu::always_inline]] inline float arc_hyperbolic_tangent(float a) { return detail::arc_hyperbolic_tangent(a); }
[[gnu::always_inline]] inline vec arc_hyperbolic_tangent(vec a) { return detail::arc_hyperbolic_tangent(a); }
[[gnu::always_inline]] inline double arc_hyperbolic_tangent(double a) { return __builtin_atanh(a); }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

#pragma clang diagnostic pop
