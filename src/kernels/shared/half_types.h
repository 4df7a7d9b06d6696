// The half types as elements in memory, on every target; arithmetic on them is done in float.
//
// The including file has defined ONNXC_KERNELS_ISA: the inline namespace that keeps code for different instruction sets
// apart in one binary.
#pragma once

#include <stdint.h>

#ifndef ONNXC_KERNELS_ISA
#error "include the target's own header first: kernels/cpu/vector/vector.h or kernels/hip/wave/prelude.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

using float16_t = _Float16;

// The upper half of a float. Conversions are integer arithmetic: to nearest, ties to even; a NaN stays a NaN with its
// sign.
struct bfloat16_t {
  uint16_t bits;

  bfloat16_t() = default;
  [[gnu::always_inline]] explicit bfloat16_t(float value) : bits(round(__builtin_bit_cast(uint32_t, value))) {}
  [[gnu::always_inline]] operator float() const {  // exact, so it is implicit as from float16_t
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
  }

 private:
  [[gnu::always_inline]] static uint16_t round(uint32_t value) {
    const bool is_nan = (value & 0x7fffffffu) > 0x7f800000u;
    const uint32_t rounded = value + 0x7fffu + ((value >> 16) & 1u);
    return static_cast<uint16_t>((is_nan ? value | 0x00400000u : rounded) >> 16);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
