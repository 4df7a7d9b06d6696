// Products of bytes in quads: four neighbouring channels in 32 bits, activations unsigned and weights signed.
//
// add_quads(sums, x, w): each lane of the sums gains x0 * w0 + x1 * w1 + x2 * w2 + x3 * w3, exactly. AVX512_VNNI and
// AVX-VNNI have an instruction for it, with four times the products of an FMA (Intel SDM, VPDPBUSD). Elsewhere two
// VPMADDWD on halves of 16 bits give the same; VPMADDUBSW would saturate its pairs.
#pragma once

#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Four bytes in all lanes, as they stand in memory.
[[gnu::always_inline]] inline vec_int32 load_splat_quad(const uint8_t* source) {
  int32_t bits;
  __builtin_memcpy(&bits, source, sizeof(bits));
  return static_cast<vec_int32>(bits);
}
[[gnu::always_inline]] inline vec_int32 load_quads(const int8_t* source) {
  return detail::load_bits<vec_int32>(source);
}

[[gnu::always_inline]] inline vec_int32 add_quads(vec_int32 sums, vec_int32 x, vec_int32 w) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpbusd512(sums, x, w);
#elif defined(__AVXVNNI__)
  return __builtin_ia32_vpdpbusd256(sums, x, w);
#else
  typedef int16_t halves __attribute__((ext_vector_type(2 * lanes)));
  typedef uint16_t unsigned_halves __attribute__((ext_vector_type(2 * lanes)));
  const halves x_halves = __builtin_bit_cast(halves, x), w_halves = __builtin_bit_cast(halves, w);
  const halves x_odd = __builtin_bit_cast(halves, __builtin_bit_cast(unsigned_halves, x) >> 8);
  const halves x_even = x_halves & static_cast<halves>(static_cast<int16_t>(0xff));
  const halves w_odd = w_halves >> 8, w_even = (w_halves << 8) >> 8;
#if defined(__AVX512F__)
  const auto add_pairs = [](halves a, halves b) { return __builtin_ia32_pmaddwd512(a, b); };
#else
  const auto add_pairs = [](halves a, halves b) { return __builtin_ia32_pmaddwd256(a, b); };
#endif
  return sums + add_pairs(x_even, w_even) + add_pairs(x_odd, w_odd);
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
