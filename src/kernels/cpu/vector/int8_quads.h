// Products of bytes in quads: four neighbouring channels in 32 bits, activations unsigned and weights signed.
//
// add_quads(sums, x, w): each lane of the sums gains x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3, exactly. AVX512_VNNI and
// AVX-VNNI have an instruction for it, with four times the products of an FMA (Intel SDM, VPDPBUSD). Elsewhere two
// VPMADDWD on halves of 16 bits give the same; VPMADDUBSW would saturate its pairs.
#pragma once

#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

[[gnu::always_inline]] inline vec_int32 add_quads(vec_int32 sums, vec_int32 x, vec_int32 w) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpbusd512(sums, x, w);
#elif defined(__AVXVNNI__)
  return __builtin_ia32_vpdpbusd256(sums, x, w);
#else
  typedef int16_t halves __attribute__((ext_vector_type(2 * lanes)));
  typedef uint16_t unsigned_halves __attribute__((ext_vector_type(2 * lanes)));
  const halves w_halves = __builtin_bit_cast(halves, w);
  const auto as_words = [](auto pairs) { return __builtin_bit_cast(vec_int32, pairs); };
  const vec_int32 x_odd = as_words(__builtin_bit_cast(unsigned_halves, x) >> 8);
  const vec_int32 x_even = x & splat(int32_t{0x00ff00ff});
  const vec_int32 w_odd = as_words(w_halves >> 8), w_even = as_words((w_halves << 8) >> 8);
  return sums + multiply_pairs(x_even, w_even) + multiply_pairs(x_odd, w_odd);
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
