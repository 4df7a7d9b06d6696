// The matrix unit of NVIDIA's GPUs from Ampere on, and what feeds it. A whole warp reads matrices of 8 rows of 16 bytes
// from shared memory (ldmatrix) and makes the products of 16 rows and 8 columns (mma.sync). Copies into shared memory
// pass no register (cp.async).
#pragma once

#include <stdint.h>

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef uint32_t FourWords __attribute__((ext_vector_type(4)));

// Instructions take addresses of 32 bits.
using LdsAddress = uint32_t;
__device__ inline LdsAddress lds_address(const void* place) {
  // NOLINTNEXTLINE: no C++ cast changes the address space
  return static_cast<LdsAddress>(reinterpret_cast<uintptr_t>((const __attribute__((address_space(3))) char*)place));
}
template <class T>
__device__ inline T load_from_lds(LdsAddress address) {
  return *(const __attribute__((address_space(3))) T*)address;  // NOLINT: the same
}

// Four matrices: lanes 8 i to 8 i + 7 have the addresses of the rows of the i-th. A lane gets of each the word that is
// its fourth's in the row that is its number over 4.
__device__ inline FourWords load_matrices(LdsAddress address) {
  uint32_t a, b, c, d;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address)
               : "memory");
  return {a, b, c, d};
}

// Copies 16 bytes, or zeros if they are not real: through L1, for what neighbours read again, or past it.
template <bool through_l1>
__device__ inline void copy_to_lds(LdsAddress to, const void* from, bool is_real) {
  // NOLINTNEXTLINE: the same
  const auto* const source = (const __attribute__((address_space(1))) char*)from;
  const int bytes = is_real ? 16 : 0;
  if constexpr (through_l1)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(source), "r"(bytes) : "memory");
}
// The copies since the last end are a group.
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// All groups of this thread but the last `left` are done.
template <int left>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

// To the 10 bits of mantissa that the matrix unit reads, ties away from zero.
__device__ inline uint32_t rounded_to_tf32(uint32_t bits) {
  uint32_t result;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(__builtin_bit_cast(float, bits)));
  return result;
}

// Adds to the sums of 16 rows and 8 columns the products of 32 bytes of each: 16 elements, 8 of tf32 or 32 bytes. A
// lane has two adjacent columns of one row, and of the row 8 further.
__device__ inline void add_float16_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(first), "r"(second));
}
__device__ inline void add_bfloat16_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(first), "r"(second));
}
__device__ inline void add_tf32_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(first), "r"(second));
}

// Columns are signed bytes, rows signed or not; the sums wrap around.
template <bool are_rows_signed>
__device__ inline void add_byte_products(int32_t (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  if constexpr (are_rows_signed)
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(first), "r"(second));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(first), "r"(second));
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
