// The words of the matrix unit on the host, in place of those in PTX. An address in shared memory counts from where the
// shared memory of all kernels begins.
#pragma once

#include "block.h"
#include "matrix.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef uint32_t FourWords __attribute__((ext_vector_type(4)));

using LdsAddress = uint32_t;
inline LdsAddress lds_address(const void* place) { return host_blocks::block_memory_address(place); }
template <class T>
T load_from_lds(LdsAddress address) {
  return *static_cast<const T*>(host_blocks::block_memory_place(address));
}

inline FourWords load_matrices(LdsAddress address) {
  uint32_t words[4];
  host_blocks::load_matrices(host_blocks::block_memory_place(address), words);
  return {words[0], words[1], words[2], words[3]};
}

template <bool through_l1>
void copy_to_lds(LdsAddress to, const void* from, bool is_real) {
  host_blocks::copies().copy(host_blocks::block_memory_place(to), from, is_real ? 16 : 0);
}
inline void end_copies() { host_blocks::copies().end_group(); }
template <int left>
void wait_for_copies() {
  host_blocks::copies().wait(left);
}

// cvt.rna.tf32.f32.
inline uint32_t rounded_to_tf32(uint32_t bits) {
  constexpr uint32_t infinity = 0x7f800000u;
  const uint32_t magnitude = bits & ~0x80000000u;
  if (magnitude > infinity) return 0x7fffffffu;
  if (magnitude == infinity) return bits;
  return (bits + 0x1000u) & ~0x1fffu;
}

template <host_blocks::MatrixType type>
void add_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  const uint32_t a[4] = {rows.x, rows.y, rows.z, rows.w}, b[2] = {first, second};
  host_blocks::multiply_tiles(type, a, b, sums);
}
inline void add_float16_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  add_products<host_blocks::MatrixType::float16>(sums, rows, first, second);
}
inline void add_bfloat16_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  add_products<host_blocks::MatrixType::bfloat16>(sums, rows, first, second);
}
inline void add_tf32_products(float (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  add_products<host_blocks::MatrixType::tf32>(sums, rows, first, second);
}

template <bool are_rows_signed>
void add_byte_products(int32_t (&sums)[4], FourWords rows, uint32_t first, uint32_t second) {
  const uint32_t a[4] = {rows.x, rows.y, rows.z, rows.w}, b[2] = {first, second};
  host_blocks::multiply_tiles(are_rows_signed, a, b, sums);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
