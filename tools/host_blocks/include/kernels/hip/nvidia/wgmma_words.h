// The words of products of four warps on the host, in place of those in PTX.
#pragma once

#include "kernels/hip/nvidia/matrix_words.h"
#include "warpgroup.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

inline char* launch_lds() { return host_blocks::launch_memory(); }

inline void show_to_products() { host_blocks::copies().show(); }
inline void begin_products() { host_blocks::products().begin_group(); }
inline void end_products() { host_blocks::products().end_group(); }
template <int left>
void wait_for_products() {
  host_blocks::products().wait(left);
}
template <int count>
void settle(float (&)[count][4]) {}

template <int count>
void start_float16_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  host_blocks::products().start(host_blocks::MatrixType::float16, {&sums[0][0], count}, rows, factors);
}
template <int count>
void start_bfloat16_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  host_blocks::products().start(host_blocks::MatrixType::bfloat16, {&sums[0][0], count}, rows, factors);
}
template <int count>
void start_tf32_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  host_blocks::products().start(host_blocks::MatrixType::tf32, {&sums[0][0], count}, rows, factors);
}
template <int count>
void start_tf32_products(float (&sums)[count][4], FourWords rows, uint64_t factors) {
  const uint32_t words[4] = {rows.x, rows.y, rows.z, rows.w};
  host_blocks::products().start(host_blocks::MatrixType::tf32, {&sums[0][0], count}, words, factors);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
