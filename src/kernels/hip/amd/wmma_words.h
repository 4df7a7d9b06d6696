// The matrix unit of AMD's RDNA, WMMA: adds to 16x16 sums the products of 16 elements of 16 columns and of 16 rows.
//
// A lane has the sums of eight columns with one row, whose number is the lane's modulo 16. On RDNA3 it has all elements
// of its column and of its row, as the lane 16 further has them too; on RDNA4 eight of either, and that lane the
// others. RDNA3 and RDNA4 ISA guides, "Wave Matrix Multiply Accumulate".
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float8 __attribute__((ext_vector_type(8)));
typedef int32_t Int8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
typedef short Short8 __attribute__((ext_vector_type(8)));
typedef short Short16 __attribute__((ext_vector_type(16)));
// Elements of a lane, as the words that they lie in.
typedef uint32_t Words2 __attribute__((ext_vector_type(2)));
typedef uint32_t Words4 __attribute__((ext_vector_type(4)));
typedef uint32_t Words8 __attribute__((ext_vector_type(8)));

// RDNA3.
__device__ inline Float8 add_float16_products(Words8 column, Words8 row, Float8 sums) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(Half16, column), __builtin_bit_cast(Half16, row),
                                                    sums);
}
__device__ inline Float8 add_bfloat16_products(Words8 column, Words8 row, Float8 sums) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(Short16, column),
                                                     __builtin_bit_cast(Short16, row), sums);
}
// Bytes of columns are signed, of rows or not; the sums wrap around.
template <bool are_rows_signed>
__device__ inline Int8 add_byte_products(Words4 column, Words4 row, Int8 sums) {
  typedef int32_t Int4 __attribute__((ext_vector_type(4)));
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_bit_cast(Int4, column), are_rows_signed,
                                                    __builtin_bit_cast(Int4, row), sums, false);
}

// RDNA4.
__device__ inline Float8 add_float16_products(Words4 column, Words4 row, Float8 sums) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(Half8, column),
                                                          __builtin_bit_cast(Half8, row), sums);
}
__device__ inline Float8 add_bfloat16_products(Words4 column, Words4 row, Float8 sums) {
  return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(__builtin_bit_cast(Short8, column),
                                                           __builtin_bit_cast(Short8, row), sums);
}
template <bool are_rows_signed>
__device__ inline Int8 add_byte_products(Words2 column, Words2 row, Int8 sums) {
  typedef int32_t Int2 __attribute__((ext_vector_type(2)));
  return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, __builtin_bit_cast(Int2, column), are_rows_signed,
                                                          __builtin_bit_cast(Int2, row), sums, false);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
