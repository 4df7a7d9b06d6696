// The words of the hardware (wave/words.h) as NVIDIA's GPUs have them. A wavefront is a warp.
#pragma once

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

__device__ inline int64_t block_index() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_ctaid_x()); }
__device__ inline int thread_index() { return static_cast<int>(__nvvm_read_ptx_sreg_tid_x()); }
// Code does not ask for scalar registers: ptxas finds uniform values.
__device__ inline int uniform(int value) { return value; }

inline constexpr unsigned all_lanes = 0xffffffffu;
__device__ inline void barrier() { __syncthreads(); }
__device__ inline void wave_barrier() { __nvvm_bar_warp_sync(all_lanes); }
// ptxas schedules anew.
__device__ inline void scheduling_barrier() {}

// Arguments lie in constant memory, which instructions read as operands: nothing holds them.
template <class T>
__device__ inline T late_argument(const T& argument, size_t /*offset*/) {
  return argument;
}

__device__ inline void forget_origin(int32_t& value) { asm volatile("" : "+r"(value)); }
__device__ inline void forget_origin(uint32_t& value) { asm volatile("" : "+r"(value)); }
__device__ inline void forget_origin(uint64_t& value) { asm volatile("" : "+l"(value)); }
__device__ inline void forget_origin(float& value) {
  auto bits = __builtin_bit_cast(uint32_t, value);
  forget_origin(bits);
  value = __builtin_bit_cast(float, bits);
}
__device__ inline int64_t computed(int64_t value) { return value; }

__device__ inline int32_t of_lane(int32_t value, int32_t lane) {
  return __nvvm_shfl_sync_idx_i32(all_lanes, value, lane, 31);
}
template <int distance, bool is_uniform>
__device__ inline int exchange_bits(int bits) {
  return __nvvm_shfl_sync_bfly_i32(all_lanes, bits, distance, 31);
}
template <int distance>
__device__ inline int exchange_bits_in_row(int bits) {
  return exchange_bits<distance, false>(bits);
}

__device__ inline uint32_t upper_halves(uint32_t first, uint32_t second) {
  return static_cast<uint32_t>(__nvvm_prmt(static_cast<int>(first), static_cast<int>(second), 0x7632));
}
__device__ inline float fast_power_of_two(float exponent) { return __nvvm_ex2_approx_f(exponent); }

template <class T>
__device__ inline void atomic_add(T* element, T value) {
  __scoped_atomic_fetch_add(element, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <class Bits>
__device__ inline Bits atomic_load(Bits* element) {
  return __scoped_atomic_load_n(element, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
template <class Bits>
__device__ inline bool atomic_replace(Bits* element, Bits& found, Bits replacement) {
  return __scoped_atomic_compare_exchange_n(element, &found, replacement, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_DEVICE);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
