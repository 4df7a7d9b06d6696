// The words of WMMA on the host, in place of RDNA's. Operands of eight words (of bytes: four) are RDNA3's.
#pragma once

#include "wmma.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float Float8 __attribute__((ext_vector_type(8)));
typedef int32_t Int8 __attribute__((ext_vector_type(8)));

template <class Words, class Sums, class Multiply>
Sums add_products(Words column, Words row, Sums sums, const Multiply& multiply) {
  constexpr int count = sizeof(Words) / 4;
  uint32_t words[2 * count];
  for (int i = 0; i < count; ++i) {
    words[i] = column[i];
    words[count + i] = row[i];
  }
  decltype(+sums[0]) of_lane[8];
  for (int i = 0; i < 8; ++i) of_lane[i] = sums[i];
  multiply(words, count, of_lane);
  for (int i = 0; i < 8; ++i) sums[i] = of_lane[i];
  return sums;
}

template <class Words>
Float8 add_float16_products(Words column, Words row, Float8 sums) {
  return add_products(column, row, sums, [](const uint32_t* words, int count, float* of_lane) {
    host_blocks::multiply_halves(host_blocks::MatrixType::float16, words, count, of_lane);
  });
}
template <class Words>
Float8 add_bfloat16_products(Words column, Words row, Float8 sums) {
  return add_products(column, row, sums, [](const uint32_t* words, int count, float* of_lane) {
    host_blocks::multiply_halves(host_blocks::MatrixType::bfloat16, words, count, of_lane);
  });
}
template <bool are_rows_signed, class Words>
Int8 add_byte_products(Words column, Words row, Int8 sums) {
  return add_products(column, row, sums, [](const uint32_t* words, int count, int32_t* of_lane) {
    host_blocks::multiply_bytes(are_rows_signed, words, count, of_lane);
  });
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
