// The words of the hardware (wave/words.h) as AMD's GPUs have them.
#pragma once

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

inline constexpr int planned_waves =
    own_gpu.matrix_unit == machine::MatrixUnit::mfma ? 2 : own_gpu.registers / own_gpu.taken_registers;

__device__ inline int64_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
__device__ inline int uniform(int value) { return __builtin_amdgcn_readfirstlane(value); }

// The fences keep the compiler from moving accesses across the instruction.
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline void wave_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
__device__ inline void scheduling_barrier() { __builtin_amdgcn_sched_barrier(0); }

// Read by its name the compiler loads an argument when the kernel begins, and holds it in scalar registers, or spills
// it, until it is used.
template <class T>
__device__ inline T late_argument(const T& /*argument*/, size_t offset) {
  using Place = const __attribute__((address_space(4))) char*;
  auto place = (Place)__builtin_amdgcn_kernarg_segment_ptr();  // NOLINT: no C++ cast changes the address space
  __asm__ volatile("" : "+s"(place));
  return *(const T*)(place + offset);
}

template <class T>
__device__ inline void forget_origin(T& value) {
  asm volatile("" : "+v"(value));
}
__device__ inline int64_t computed(int64_t value) {
  __asm__("" : "+v"(value));
  return value;
}

__device__ inline int32_t of_lane(int32_t value, int32_t lane) { return __builtin_amdgcn_readlane(value, lane); }

template <int distance, bool is_uniform>
__device__ inline int exchange_bits(int bits) {
  // Codes of DPP: permutations of four lanes, mirrors of half a row of 16 lanes and of a row, which the vector unit
  // makes by itself.
  constexpr int code = distance == 1                 ? 0xb1
                       : distance == 2               ? 0x4e
                       : distance == 4 && is_uniform ? 0x141
                       : distance == 8 && is_uniform ? 0x140
                                                     : 0;
  if constexpr (code != 0)
    return __builtin_amdgcn_update_dpp(0, bits, code, 0xf, 0xf, true);
  else if constexpr (distance < 32)
    return __builtin_amdgcn_ds_swizzle(bits, distance << 10 | 0x1f);
  else
    return __builtin_amdgcn_ds_bpermute((thread_index() % wave_lanes ^ distance) * 4, bits);
}
template <int distance>
__device__ inline int exchange_bits_in_row(int bits) {
  if constexpr (distance == 4) {  // from four lanes further, then from four lanes before
    const int further = __builtin_amdgcn_update_dpp(0, bits, 0x104, 0xf, 0x5, false);
    return __builtin_amdgcn_update_dpp(further, bits, 0x114, 0xf, 0xa, false);
  } else {
    constexpr int code = distance == 1 ? 0xb1 : distance == 2 ? 0x4e : 0x128;
    return __builtin_amdgcn_update_dpp(0, bits, code, 0xf, 0xf, true);
  }
}

__device__ inline uint32_t upper_halves(uint32_t first, uint32_t second) {
  return __builtin_amdgcn_perm(second, first, 0x07060302u);
}
__device__ inline float fast_power_of_two(float exponent) { return __builtin_amdgcn_exp2f(exponent); }

template <class T>
__device__ inline void atomic_add(T* element, T value) {
  __hip_atomic_fetch_add(element, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class Bits>
__device__ inline Bits atomic_load(Bits* element) {
  return __hip_atomic_load(element, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class Bits>
__device__ inline bool atomic_replace(Bits* element, Bits& found, Bits replacement) {
  return __hip_atomic_compare_exchange_strong(element, &found, replacement, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                              __HIP_MEMORY_SCOPE_AGENT);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
