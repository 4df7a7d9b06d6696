// Products of four warps on NVIDIA's Hopper (wgmma, PTX ISA 8.0, sm_90a): 64 rows and some columns, out of shared
// memory that the launch asks for. The instructions return at once. Sums are in no registers until they have been
// waited for.
#pragma once

#include "kernels/hip/nvidia/matrix_words.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The launch asked for it. A matrix begins at a multiple of eight rows of 64 bytes.
extern __shared__ __attribute__((aligned(512))) char launch_memory[];
__device__ inline char* launch_lds() { return launch_memory; }

// Products that start after a barrier see all that this thread wrote to shared memory, or copied there and waited for.
__device__ inline void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Before the first product of a group: operands and sums in registers are written.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// The products since the last end are a group.
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All groups but the last `left` are done.
template <int left>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
// The compiler must read no sum before this.
template <int count>
__device__ inline void settle(float (&sums)[count][4]) {
#pragma clang loop unroll(full)
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3]));
}

// An instruction names each register of the sums, and no function could make that list: macros up to the end of this
// file.
#define ONNXC_SUMS(i) "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
#define ONNXC_SUMS_32 ONNXC_SUMS(0), ONNXC_SUMS(1), ONNXC_SUMS(2), ONNXC_SUMS(3)
#define ONNXC_SUMS_48 ONNXC_SUMS_32, ONNXC_SUMS(4), ONNXC_SUMS(5)
#define ONNXC_SUMS_64 ONNXC_SUMS_48, ONNXC_SUMS(6), ONNXC_SUMS(7)
#define ONNXC_SUMS_128                                                                                         \
  ONNXC_SUMS_64, ONNXC_SUMS(8), ONNXC_SUMS(9), ONNXC_SUMS(10), ONNXC_SUMS(11), ONNXC_SUMS(12), ONNXC_SUMS(13), \
      ONNXC_SUMS(14), ONNXC_SUMS(15)
#define ONNXC_NAMES_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ONNXC_NAMES_48 ONNXC_NAMES_32 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define ONNXC_NAMES_64 ONNXC_NAMES_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define ONNXC_NAMES_128                                                                                    \
  ONNXC_NAMES_64                                                                                           \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ONNXC_PRODUCTS_OF(columns, types, operands, ...)                                                        \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns types " {" ONNXC_NAMES_##columns "}, " operands ";" \
               : ONNXC_SUMS_##columns                                                                           \
               : __VA_ARGS__)
#define ONNXC_PRODUCTS(types, operands, ...)                            \
  static_assert(count == 4 || count == 6 || count == 8 || count == 16); \
  if constexpr (count == 4)                                             \
    ONNXC_PRODUCTS_OF(32, types, operands, __VA_ARGS__);                \
  else if constexpr (count == 6)                                        \
    ONNXC_PRODUCTS_OF(48, types, operands, __VA_ARGS__);                \
  else if constexpr (count == 8)                                        \
    ONNXC_PRODUCTS_OF(64, types, operands, __VA_ARGS__);                \
  else                                                                  \
    ONNXC_PRODUCTS_OF(128, types, operands, __VA_ARGS__)

// Adds the products of 64 rows and 8 * `count` columns, of 32 bytes of each: 16 elements, or 8 of tf32. Descriptors are
// those of matrices in shared memory (PTX ISA, "Matrix Descriptor Format"). A warp has 16 of the rows, a lane of each 8
// columns two adjacent ones of one row, and of the row 8 further.
template <int count>
__device__ inline void start_float16_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  ONNXC_PRODUCTS("k16.f32.f16.f16", "%[rows], %[factors], 1, 1, 1, 0, 0", [rows] "l"(rows), [factors] "l"(factors));
}
template <int count>
__device__ inline void start_bfloat16_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  ONNXC_PRODUCTS("k16.f32.bf16.bf16", "%[rows], %[factors], 1, 1, 1, 0, 0", [rows] "l"(rows), [factors] "l"(factors));
}
template <int count>
__device__ inline void start_tf32_products(float (&sums)[count][4], uint64_t rows, uint64_t factors) {
  ONNXC_PRODUCTS("k8.f32.tf32.tf32", "%[rows], %[factors], 1, 1, 1", [rows] "l"(rows), [factors] "l"(factors));
}
// The rows are in registers, as load_matrices gives those of a warp.
template <int count>
__device__ inline void start_tf32_products(float (&sums)[count][4], FourWords rows, uint64_t factors) {
  ONNXC_PRODUCTS("k8.f32.tf32.tf32", "{%[x], %[y], %[z], %[w]}, %[factors], 1, 1, 1", [x] "r"(rows.x), [y] "r"(rows.y),
                 [z] "r"(rows.z), [w] "r"(rows.w), [factors] "l"(factors));
}

#undef ONNXC_SUMS
#undef ONNXC_SUMS_32
#undef ONNXC_SUMS_48
#undef ONNXC_SUMS_64
#undef ONNXC_SUMS_128
#undef ONNXC_NAMES_32
#undef ONNXC_NAMES_48
#undef ONNXC_NAMES_64
#undef ONNXC_NAMES_128
#undef ONNXC_PRODUCTS_OF
#undef ONNXC_PRODUCTS

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
