// Products of int16 in pairs: two neighbouring channels in 32 bits.
//
// add_pairs(sums, x, w): each lane of the sums gains x0 * w0 + x1 * w1, modulo 2^32. AVX512_VNNI and AVX-VNNI have an
// instruction for it, with twice the products of an FMA (Intel SDM, VPDPWSSD); elsewhere it is VPMADDWD and an
// addition.
#pragma once

#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef int16_t vec_int16 __attribute__((ext_vector_type(lanes)));

[[gnu::always_inline]] inline vec_int16 load_as_int16(const int8_t* source) {
  return __builtin_convertvector(detail::load_bits<vec_int8>(source), vec_int16);
}
[[gnu::always_inline]] inline void store(int16_t* destination, vec_int16 value) {
  __builtin_memcpy(destination, &value, sizeof(value));
}

// A pair in all lanes, as it stands in memory; and a pair for each lane.
[[gnu::always_inline]] inline vec_int32 load_splat_pair(const int16_t* source) {
  int32_t bits;
  __builtin_memcpy(&bits, source, sizeof(bits));
  return static_cast<vec_int32>(bits);
}
[[gnu::always_inline]] inline vec_int32 load_int16_pairs(const int16_t* source) {
  return detail::load_bits<vec_int32>(source);
}

[[gnu::always_inline]] inline vec_int32 add_pairs(vec_int32 sums, vec_int32 x, vec_int32 w) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpwssd512(sums, x, w);
#elif defined(__AVXVNNI__)
  return __builtin_ia32_vpdpwssd256(sums, x, w);
#else
  typedef int16_t halves __attribute__((ext_vector_type(2 * lanes)));
  const halves x_halves = __builtin_bit_cast(halves, x), w_halves = __builtin_bit_cast(halves, w);
#if defined(__AVX512F__)
  return add(sums, __builtin_ia32_pmaddwd512(x_halves, w_halves));
#else
  return add(sums, __builtin_ia32_pmaddwd256(x_halves, w_halves));
#endif
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
