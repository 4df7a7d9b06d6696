// HIP's attributes of functions and variables, for plain clang without a HIP header. A ROCm compiler defines these
// words itself.
#pragma once

// At least so many wavefronts share a SIMD unit. With two the compiler keeps MFMA sums in plain registers (a wavefront
// has 256) instead of moving them to and from accumulation registers. On RDNA a lane may have the row's
// taken_registers.
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
