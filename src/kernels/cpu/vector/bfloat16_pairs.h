// Products of bfloat16 in pairs: two neighbouring channels in 32 bits, the first in the lower half.
//
// add_products(sums, x, w): each lane of the sums gains x0 * w0 + x1 * w1. AVX512_BF16 has an instruction for it, with
// twice the products of an FMA (Zen 4: as many instructions a cycle; Intel without AMX: half as many). Elsewhere two
// FMAs on widened halves compute the same within float32's rounding: the instruction rounds each of its two additions,
// the upper halves first, and takes denormal numbers as zero (Intel SDM, VDPBF16PS).
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class T>
inline constexpr bool is_bfloat16 = false;
template <>
inline constexpr bool is_bfloat16<bfloat16_t> = true;

// How packed weights are stored: pairs by their elements.
template <bool are_pairs>
struct PackedWeight {
  using Type = float;
};
template <>
struct PackedWeight<true> {
  using Type = bfloat16_t;
};

// A pair in all lanes, as it stands in memory.
[[gnu::always_inline]] inline vec load_splat_pair(const bfloat16_t* source) {
  float bits;
  __builtin_memcpy(&bits, source, sizeof(bits));
  return splat(bits);
}

[[gnu::always_inline]] inline vec add_products(vec sums, vec x, vec w) {
#if defined(__AVX512BF16__)
  typedef __bf16 pairs __attribute__((vector_size(64)));
  return __builtin_ia32_dpbf16ps_512(sums, __builtin_bit_cast(pairs, x), __builtin_bit_cast(pairs, w));
#else
  const auto low = [](vec value) { return __builtin_bit_cast(vec, __builtin_bit_cast(vec_uint32, value) << 16); };
  const auto high = [](vec value) {
    return __builtin_bit_cast(vec, __builtin_bit_cast(vec_uint32, value) & 0xffff0000u);
  };
  return fma(low(x), low(w), fma(high(x), high(w), sums));
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
