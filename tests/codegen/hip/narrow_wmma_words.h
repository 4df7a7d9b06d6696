// The words of RDNA3's WMMA (kernels/hip/amd/wmma_words.h) for gfx942, whose wavefronts are two of RDNA's.
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float8 __attribute__((ext_vector_type(8)));
typedef uint32_t Words8 __attribute__((ext_vector_type(8)));

// Result r of a lane is that of column 2 r, in the upper half of the wavefront 2 r + 1; value(word, half of it).
template <class Value>
__device__ inline Float8 add_products(Words8 column, Words8 row, Float8 sums, const Value& value) {
  const int lane = static_cast<int>(__builtin_amdgcn_workitem_id_x()) % 64, half = lane / 16 % 2;
#pragma clang loop unroll(full)
  for (int r = 0; r < 8; ++r)
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i) {
      const int from = lane / 32 * 32 + 2 * r + half;
      const uint32_t word = __builtin_amdgcn_ds_bpermute(from * 4, column[i]);
#pragma clang loop unroll(full)
      for (int e = 0; e < 2; ++e) sums[r] = __builtin_fmaf(value(word, e), value(row[i], e), sums[r]);
    }
  return sums;
}

__device__ inline Float8 add_float16_products(Words8 column, Words8 row, Float8 sums) {
  return add_products(column, row, sums, [](uint32_t word, int half) {
    return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<uint16_t>(word >> 16 * half)));
  });
}
__device__ inline Float8 add_bfloat16_products(Words8 column, Words8 row, Float8 sums) {
  return add_products(column, row, sums, [](uint32_t word, int half) {
    return __builtin_bit_cast(float, half == 0 ? word << 16 : word & 0xffff0000u);
  });
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
