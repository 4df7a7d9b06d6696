// Products of int16 in pairs: two neighbouring channels in 32 bits.
//
// add_pairs(sums, x, w): each lane of the sums gains x0 * w0 + x1 * w1, modulo 2^32. AVX512_VNNI and AVX-VNNI have an
// instruction for it, with twice the products of an FMA (Intel SDM, VPDPWSSD); elsewhere it is VPMADDWD and an
// addition.
#pragma once

#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef int16_t vec_int16 __attribute__((ext_vector_type(lanes)));

[[gnu::always_inline]] inline void store(int16_t* destination, vec_int16 value) {
  __builtin_memcpy(destination, &value, sizeof(value));
}

[[gnu::always_inline]] inline vec_int32 add_pairs(vec_int32 sums, vec_int32 x, vec_int32 w) {
#if defined(__AVX512VNNI__)
  return __builtin_ia32_vpdpwssd512(sums, x, w);
#elif defined(__AVXVNNI__)
  return __builtin_ia32_vpdpwssd256(sums, x, w);
#else
  return add(sums, multiply_pairs(x, w));
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
