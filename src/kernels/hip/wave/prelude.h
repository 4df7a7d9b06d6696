// The part of HIP that our kernels use, so that device code compiles with plain clang and no HIP header, or with a ROCm
// compiler, which defines these words itself.
//
// A kernel reads neither block nor grid sizes from the hardware, which would add 256 bytes of hidden arguments: block
// sizes are constants, and what depends on the grid is passed.
#pragma once

#include <stdint.h>

#define ONNXC_KERNELS_ISA gfx942

// At least two wavefronts share a SIMD unit: the compiler then keeps MFMA sums in plain registers, of which a wavefront
// has 256, instead of moving them to and from accumulation registers.
#define ONNXC_TWO_WAVES __attribute__((amdgpu_waves_per_eu(2)))
// And no more than two: registers serve loads in flight rather than a third wavefront.
#define ONNXC_ONLY_TWO_WAVES __attribute__((amdgpu_waves_per_eu(2, 2)))

#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
// clang takes its own launch_bounds to mean something else on this target and ignores it.
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The indices of the running work item. Blocks have one axis.
__device__ inline int64_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }

// The number of the wavefront in its block, which the compiler learns to be the same for all of its lanes.
__device__ inline int wave_index() { return __builtin_amdgcn_readfirstlane(thread_index() / 64); }

// All threads of the block reach it, and see what the others wrote to LDS before it. The fences keep the compiler from
// moving accesses across the instruction.
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
