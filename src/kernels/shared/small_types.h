// The types of 8 bits and fewer as elements in memory, on every target and in the compiler: ONNX's float8, float4, int4
// and int2 types. Each element has a byte of its own, so that threads may write neighbours; files and callers pack the
// elements of less than a byte (onnxc.h). Arithmetic on them is done in float, or in int8_t and uint8_t.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// A sign, an exponent and so many bits of mantissa, with subnormal numbers as IEEE 754 has them.
struct SmallFormat {
  int mantissa, bias;
  uint8_t greatest;  // bits of the greatest finite number
  uint8_t beyond;    // bits of what is greater once it is rounded: an infinity or the NaN
  uint8_t nan;
  bool has_negative_zero = true;  // else the only NaN is the sign bit by itself ("FNUZ")
  uint8_t sign = 0x80;            // its bit: the highest of the format
};

// Rounds to nearest, ties to even. A NaN keeps its sign, if the format has one.
template <SmallFormat format>
struct SmallFloat {
  uint8_t bits;

  SmallFloat() = default;
  [[gnu::always_inline]] explicit SmallFloat(float value) : bits(encode(value)) {}
  [[gnu::always_inline]] operator float() const {
    const uint32_t magnitude = bits & (format.sign - 1u), negative = static_cast<uint32_t>((bits & format.sign) != 0)
                                                                     << 31;
    const float normal = __builtin_bit_cast(float, (magnitude << shift) + (exponent_difference << 23));
    const float subnormal = static_cast<float>(magnitude) * power_of_two(1 - format.bias - format.mantissa);
    const float finite = magnitude < (1u << format.mantissa) ? subnormal : normal;
    const uint32_t number = __builtin_bit_cast(uint32_t, finite) | negative;
    if constexpr (!format.has_negative_zero) return __builtin_bit_cast(float, bits == format.nan ? nan : number);
    const uint32_t special = format.beyond != format.nan && magnitude == format.beyond ? infinity : nan;
    return __builtin_bit_cast(float, magnitude > format.greatest ? special | negative : number);
  }

 private:
  static constexpr uint32_t infinity = 0x7f800000u, nan = 0x7fc00000u;
  static constexpr int shift = 23 - format.mantissa;
  static constexpr uint32_t exponent_difference = 127u - format.bias;

  static constexpr float power_of_two(int exponent) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(127 + exponent) << 23);
  }
  [[gnu::always_inline]] static uint8_t encode(float value) {
    const uint32_t all = __builtin_bit_cast(uint32_t, value), magnitude = all & 0x7fffffffu;
    // A carry out of the mantissa goes on into the exponent.
    const uint32_t rounded = magnitude + ((1u << (shift - 1)) - 1u) + ((magnitude >> shift) & 1u);
    const uint32_t normal = (rounded >> shift) - (exponent_difference << format.mantissa);
    // A sum with this number has the value, rounded to a multiple of the least subnormal number, in its last bits.
    constexpr float step = power_of_two(1 - format.bias - format.mantissa + 23);
    const float sum = __builtin_bit_cast(float, magnitude) + step;
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, sum) - __builtin_bit_cast(uint32_t, step);
    uint32_t code = magnitude < ((exponent_difference + 1) << 23) ? subnormal : normal;
    code = code > format.greatest ? format.beyond : code;
    code = magnitude > infinity ? format.nan : code;
    const bool has_sign = format.has_negative_zero || (code != 0 && code != format.nan);
    return static_cast<uint8_t>(code | (has_sign ? (all >> 31) * format.sign : 0u));
  }
};

using float8e4m3fn_t = SmallFloat<SmallFormat{3, 7, 0x7e, 0x7f, 0x7f}>;
using float8e4m3fnuz_t = SmallFloat<SmallFormat{3, 8, 0x7f, 0x80, 0x80, false}>;
using float8e5m2_t = SmallFloat<SmallFormat{2, 15, 0x7b, 0x7c, 0x7e}>;
using float8e5m2fnuz_t = SmallFloat<SmallFormat{2, 16, 0x7f, 0x80, 0x80, false}>;
// It has no infinity: what is greater becomes the greatest number. It has no NaN either, which becomes -0: so do ONNX's
// tests have it, by ml_dtypes; its page on float4 says 6.
using float4e2m1_t = SmallFloat<SmallFormat{1, 1, 0x7, 0x7, 0x8, true, 0x8}>;

// The exponent of a float: powers of two from 2^-127 to 2^127, and a NaN. No sign, and no zero: what is smaller becomes
// 2^-127, other numbers the power of two below their magnitude.
struct float8e8m0_t {
  uint8_t bits;

  float8e8m0_t() = default;
  [[gnu::always_inline]] explicit float8e8m0_t(float value)
      : bits(static_cast<uint8_t>(__builtin_bit_cast(uint32_t, value) >> 23)) {}
  [[gnu::always_inline]] operator float() const {
    const uint32_t exponent = static_cast<uint32_t>(bits) << 23;
    return __builtin_bit_cast(float, bits == 0xff ? 0x7fc00000u : bits == 0 ? 0x00400000u : exponent);
  }
};

// The lowest bits of an integer, as the number that they are in `Value`.
template <class Value, int width>
struct SmallInteger {
  Value value;

  SmallInteger() = default;
  [[gnu::always_inline]] explicit SmallInteger(int64_t whole)
      : value(static_cast<Value>(static_cast<Value>(whole << (8 - width)) >> (8 - width))) {}
  [[gnu::always_inline]] operator Value() const { return value; }
};

using int4_t = SmallInteger<int8_t, 4>;
using uint4_t = SmallInteger<uint8_t, 4>;
using int2_t = SmallInteger<int8_t, 2>;
using uint2_t = SmallInteger<uint8_t, 2>;

}  // namespace onnxc::kernels
