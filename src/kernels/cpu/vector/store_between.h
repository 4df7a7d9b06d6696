// Stores of some lanes of a block that others store, too.
#pragma once

#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Stores lanes [begin, end), 0 to lanes, and touches no other memory: another thread may store the others.
[[gnu::always_inline]] inline void store_between(float* destination, vec value, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  const uint32_t mask = ((1u << end) - 1u) & ~((1u << begin) - 1u);
  __builtin_ia32_storeups512_mask(destination, value, static_cast<uint16_t>(mask));
#else
  typedef float vector8 __attribute__((vector_size(32)));
  typedef int32_t mask8 __attribute__((vector_size(32)));
  __builtin_ia32_maskstoreps256(reinterpret_cast<vector8*>(destination),
                                __builtin_bit_cast(mask8, first_lanes(end) & ~first_lanes(begin)),
                                __builtin_bit_cast(vector8, value));
#endif
}
template <class T>
[[gnu::always_inline]] inline void store_between(T* destination, vec value, int64_t begin, int64_t end) {
  T converted[lanes];
  store(converted, value);
#if defined(__AVX512F__)
  typedef int16_t halves __attribute__((vector_size(32)));
  static_assert(sizeof(converted) == sizeof(halves), "elements of 16 bits");
  const uint32_t mask = ((1u << end) - 1u) & ~((1u << begin) - 1u);
  __builtin_ia32_storedquhi256_mask(reinterpret_cast<halves*>(destination), __builtin_bit_cast(halves, converted),
                                    static_cast<uint16_t>(mask));
#else
  for (int64_t i = begin; i < end; ++i) destination[i] = converted[i];
#endif
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
