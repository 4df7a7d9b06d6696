// gfx942's 8-bit floats: "FNUZ", with one zero, no infinities, and NaN as 0x80; not the OCP formats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gfx942sim {

template <int mantissa, int bias>
struct EightBitFloat {
  static constexpr int least_exponent = 1 - bias;  // of numbers that are not denormal

  static float decode(uint8_t bits) {
    if (bits == 0x80) return std::numeric_limits<float>::quiet_NaN();
    const int exponent = bits >> mantissa & ((1 << (7 - mantissa)) - 1);
    const int fraction = bits & ((1 << mantissa) - 1);
    const float magnitude =
        exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - mantissa)
                      : std::ldexp(static_cast<float>(fraction + (1 << mantissa)), exponent - bias - mantissa);
    return bits & 0x80 ? -magnitude : magnitude;
  }

  // To the nearest, ties to even; beyond the largest value to the largest; infinity and NaN to NaN.
  static uint8_t encode(float value) {
    if (std::isnan(value) || std::isinf(value)) return 0x80;
    const float magnitude = std::fabs(value);
    int exponent = 0;
    std::frexp(magnitude, &exponent);                               // magnitude is in [0.5, 1) * 2^exponent
    const int least = std::max(exponent - 1, 1 - bias) - mantissa;  // the exponent of the last bit
    const auto units = static_cast<float>(std::nearbyint(std::ldexp(magnitude, -least)));
    const float rounded = std::min(std::ldexp(units, least), decode(0x7f));
    if (rounded == 0) return 0;  // there is no negative zero
    std::frexp(rounded, &exponent);
    const int biased = std::max(exponent - 1 + bias, 0);
    const int shift = std::max(exponent - 1, 1 - bias) - mantissa;
    const auto digits = static_cast<int>(std::ldexp(rounded, -shift));
    const int bits = biased <= 0 ? digits : (biased << mantissa) + digits - (1 << mantissa);
    return static_cast<uint8_t>(bits | (value < 0 ? 0x80 : 0));
  }
};

using Fp8 = EightBitFloat<3, 8>;   // E4M3FNUZ
using Bf8 = EightBitFloat<2, 16>;  // E5M2FNUZ

}  // namespace gfx942sim
