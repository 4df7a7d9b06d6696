// Functions of float32 that keep subnormal results, from IEEE operations: for targets whose library does not.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// e^a within 1.01 units of the last place: a = n ln 2 + r, a polynomial of r (Cephes, expf), and 2^n as two factors.
// Only the last product rounds.
inline float exponential_of_float(float a) {
  // Beyond these the result is 0 or infinite. A NaN passes both.
  const float inside = a < -104.0f ? -104.0f : a > 89.0f ? 89.0f : a;
  // Added to it, a number is rounded to an integer, which the low bits of the sum are.
  constexpr float rounder = 0x1.8p23f;
  const float sum = __builtin_fmaf(inside, 0x1.715476p+0f, rounder), n = sum - rounder;
  const uint32_t power = __builtin_bit_cast(uint32_t, sum) - __builtin_bit_cast(uint32_t, rounder);
  const float r = __builtin_fmaf(n, 0x1.05c61p-29f, __builtin_fmaf(n, -0x1.62e43p-1f, inside));
  float value = __builtin_fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
  value = __builtin_fmaf(value, r, 8.3334519073e-3f);
  value = __builtin_fmaf(value, r, 4.1665795894e-2f);
  value = __builtin_fmaf(value, r, 1.6666665459e-1f);
  value = __builtin_fmaf(value, r, 5.0000001201e-1f);
  value = __builtin_fmaf(value, r * r, r) + 1.0f;
  const auto half = static_cast<uint32_t>(static_cast<int32_t>(power) >> 1);
  const auto power_of_two = [](uint32_t exponent) { return __builtin_bit_cast(float, (exponent + 127u) << 23); };
  return value * power_of_two(half) * power_of_two(power - half);
}

// The remainder of a / b towards zero, which is exact: a binary long division of the mantissas.
inline float modulo_of_floats(float a, float b) {
  constexpr uint32_t mantissa_bits = 23, hidden = 1u << mantissa_bits, infinity = 0x7f800000u, sign_bit = 1u << 31;
  const uint32_t bits = __builtin_bit_cast(uint32_t, a), sign = bits & sign_bit, dividend = bits & ~sign_bit,
                 divisor = __builtin_bit_cast(uint32_t, b) & ~sign_bit;
  if (divisor == 0 || dividend >= infinity || divisor > infinity) return (a * b) / (a * b);  // not a number
  if (dividend < divisor) return a;
  // Subnormal numbers have the exponent of the least normal ones.
  const auto exponent_of = [](uint32_t number) {
    const auto exponent = static_cast<int32_t>(number >> mantissa_bits);
    return exponent > 0 ? exponent : 1;
  };
  const auto mantissa_of = [](uint32_t number) { return number >= hidden ? (number & (hidden - 1)) | hidden : number; };
  int32_t exponent = exponent_of(dividend);
  uint32_t rest = mantissa_of(dividend);
  const uint32_t part = mantissa_of(divisor);
  rest = rest >= part ? rest - part * (rest / part) : rest;
  for (; exponent > exponent_of(divisor); --exponent) {
    rest *= 2;
    rest = rest >= part ? rest - part * (rest / part) : rest;
  }
  // The rest is below the divisor's mantissa: move it to its place.
  while (rest != 0 && rest < hidden && exponent > 1) {
    rest *= 2;
    --exponent;
  }
  const uint32_t result =
      rest < hidden ? rest : (rest & (hidden - 1)) | static_cast<uint32_t>(exponent) << mantissa_bits;
  return __builtin_bit_cast(float, result | sign);
}

}  // namespace onnxc::kernels
