// AMD's matrix unit, MFMA: each adds to 32x32 sums the products of a few elements of 32 columns and of 32 rows, a
// lane's share of either, and of the sums.
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float2 __attribute__((ext_vector_type(2)));
typedef float Float16 __attribute__((ext_vector_type(16)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef short Short4 __attribute__((ext_vector_type(4)));

__device__ inline Float16 add_products(float column, float row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x2f32(column, row, sum, 0, 0, 0);
}
__device__ inline Float16 add_xf32_products(uint64_t column, uint64_t row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x4_xf32(__builtin_bit_cast(Float2, column), __builtin_bit_cast(Float2, row),
                                                sum, 0, 0, 0);
}
__device__ inline Float16 add_float16_products(uint64_t column, uint64_t row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x8f16(__builtin_bit_cast(Half4, column), __builtin_bit_cast(Half4, row), sum, 0,
                                              0, 0);
}
__device__ inline Float16 add_bfloat16_products(uint64_t column, uint64_t row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(__builtin_bit_cast(Short4, column), __builtin_bit_cast(Short4, row),
                                                  sum, 0, 0, 0);
}

// CDNA4 has them of twice the length: a lane's share is a whole chunk.
#if __has_builtin(__builtin_amdgcn_mfma_f32_32x32x16_f16)
typedef uint32_t Words4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef __bf16 BrainFloat8 __attribute__((ext_vector_type(8)));

__device__ inline Float16 add_float16_products(Words4 column, Words4 row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x16_f16(__builtin_bit_cast(Half8, column), __builtin_bit_cast(Half8, row), sum,
                                                0, 0, 0);
}
__device__ inline Float16 add_bfloat16_products(Words4 column, Words4 row, Float16 sum) {
  return __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(BrainFloat8, column),
                                                 __builtin_bit_cast(BrainFloat8, row), sum, 0, 0, 0);
}
#endif

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
