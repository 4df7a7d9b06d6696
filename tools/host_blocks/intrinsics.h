// Clang's builtins for NVPTX that kernels/hip/nvidia/words.h calls, as functions of the host: that header is compiled
// as it is. Their meanings: PTX ISA, "Data movement: shfl.sync, prmt", "Parallel synchronization: bar, bar.warp".
#pragma once

#include <cmath>

#include "block.h"

inline uint32_t __nvvm_read_ptx_sreg_ctaid_x() { return onnxc::host_blocks::block_index(); }
inline uint32_t __nvvm_read_ptx_sreg_tid_x() { return onnxc::host_blocks::thread_index(); }
inline void __syncthreads() { onnxc::host_blocks::barrier(); }

inline void onnxc_check_mask(unsigned lanes) {
  if (lanes != 0xffffffffu) onnxc::host_blocks::fail("an exchange of some lanes only (mask %#x)", lanes);
}

inline void __nvvm_bar_warp_sync(unsigned lanes) {
  onnxc_check_mask(lanes);
  onnxc::host_blocks::exchange("bar.warp.sync", nullptr, 0);
}

// `clamp` of 31: all lanes are one segment.
inline int __nvvm_shfl_sync_idx_i32(unsigned lanes, int value, int lane, int clamp) {
  onnxc_check_mask(lanes);
  if (clamp != 31) onnxc::host_blocks::fail("shfl.sync with a clamp of %d", clamp);
  const auto word = static_cast<uint32_t>(value);
  return static_cast<int>(onnxc::host_blocks::exchange("shfl.sync.idx", &word, 1).words[lane & 31][0]);
}
inline int __nvvm_shfl_sync_bfly_i32(unsigned lanes, int value, int distance, int clamp) {
  onnxc_check_mask(lanes);
  if (clamp != 31) onnxc::host_blocks::fail("shfl.sync with a clamp of %d", clamp);
  const auto word = static_cast<uint32_t>(value);
  const uint32_t own = onnxc::host_blocks::thread_index() % onnxc::host_blocks::warp_lanes;
  return static_cast<int>(
      onnxc::host_blocks::exchange("shfl.sync.bfly", &word, 1).words[own ^ static_cast<uint32_t>(distance)][0]);
}

// Four bytes of the eight of second:first, each chosen by a nibble.
inline int __nvvm_prmt(int first, int second, int choice) {
  const uint64_t bytes = static_cast<uint64_t>(static_cast<uint32_t>(second)) << 32 | static_cast<uint32_t>(first);
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const int nibble = choice >> 4 * i & 0xf;
    if (nibble > 7) onnxc::host_blocks::fail("prmt that repeats a sign");
    result |= static_cast<uint32_t>(bytes >> 8 * nibble & 0xff) << 8 * i;
  }
  return static_cast<int>(result);
}

inline float __nvvm_ex2_approx_f(float exponent) { return std::exp2(exponent); }
