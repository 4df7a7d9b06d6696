// The part of HIP that our kernels use, so that device code compiles with plain clang and no HIP header, or with a ROCm
// compiler, which defines these words itself.
//
// A kernel reads neither block nor grid sizes from the hardware, which would add 256 bytes of hidden arguments: block
// sizes are constants, and what depends on the grid is passed.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "machine/gpu_machine.h"

// The row of the GPU that this file is compiled for; the compile command names it.
#ifndef ONNXC_GPU
#define ONNXC_GPU gfx942
#endif
#define ONNXC_KERNELS_ISA ONNXC_GPU

// At least so many wavefronts share a SIMD unit. With two the compiler keeps MFMA sums in plain registers (a wavefront
// has 256) instead of moving them to and from accumulation registers. If there is no MFMA, half of those that fit: with
// all 256 registers of RDNA3 the compiler's schedule takes some more.
#define ONNXC_PLANNED_WAVES __attribute__((amdgpu_waves_per_eu(onnxc::kernels::planned_waves)))
// No more than two: registers serve loads in flight rather than a third wavefront.
#define ONNXC_ONLY_TWO_WAVES __attribute__((amdgpu_waves_per_eu(2, 2)))

#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
// clang takes its own launch_bounds to mean something else on this target and ignores it.
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Launches and tiles are planned for one GPU, whose plans every GPU of a model.so carries out; what differs from GPU to
// GPU inside of a kernel follows from this row.
inline constexpr machine::GpuMachine own_gpu = machine::ONNXC_GPU;
inline constexpr int wave_lanes = own_gpu.wave_lanes, planned_waves = own_gpu.has_mfma ? 2 : own_gpu.waves_per_simd / 2;

// The indices of the running work item. Blocks have one axis.
__device__ inline int64_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ inline int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }

// Products deal out their work to quarters of a block, of 64 threads: a wavefront, or two of 32 lanes. The number of a
// thread's quarter, which the compiler learns to be the same for all lanes of a wavefront.
inline constexpr int quarter_threads = 64;
__device__ inline int quarter_index() { return __builtin_amdgcn_readfirstlane(thread_index() / quarter_threads); }

// All threads of the block reach it, and see what the others wrote to LDS before it. The fences keep the compiler from
// moving accesses across the instruction.
__device__ inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// The argument `offset` bytes into a kernel's arguments, loaded at the call. Read by its name the compiler loads it
// when the kernel begins, and holds it in scalar registers, or spills it, until it is used.
template <class T>
__device__ inline T late_argument(size_t offset) {
  using Place = const __attribute__((address_space(4))) char*;
  auto place = (Place)__builtin_amdgcn_kernarg_segment_ptr();  // NOLINT: no C++ cast changes the address space
  __asm__ volatile("" : "+s"(place));
  return *(const T*)(place + offset);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
