// v_trig_preop_f64: a segment of 2/pi, by which OCML reduces large angles.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "gfx942sim/operations/float_functions.h"

namespace gfx942sim {

// The first 1,201 bits of 2/pi after the point, from the highest on, and zeros.
inline constexpr std::array<uint64_t, 20> two_over_pi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};

// 53 bits of 2/pi: those of the segment, counted from where the product with the angle has no multiples of 4 or more
// left. ISA guide, V_TRIG_PREOP_F64.
inline double segment_of_two_over_pi(double angle, uint32_t segment) {
  const int exponent = biased_exponent(angle);
  const int shift = static_cast<int>(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  const size_t word = static_cast<size_t>(shift) / 64;
  const int bit = shift % 64;
  if (word >= two_over_pi.size()) return 0.0;
  const uint64_t next = word + 1 < two_over_pi.size() && bit > 0 ? two_over_pi[word + 1] >> (64 - bit) : 0;
  const uint64_t bits = (two_over_pi[word] << bit | next) >> 11;
  return std::ldexp(static_cast<double>(bits), -53 - shift + (exponent >= 1968 ? 128 : 0));
}

}  // namespace gfx942sim
