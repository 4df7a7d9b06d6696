// Elementary functions on the device, under the names of the loop IR's scalar operations (ir/loops/loops.h).
#pragma once

#include "kernels/hip/wave/prelude.h"

#ifdef __NVPTX__
#include "kernels/hip/nvidia/elementary.h"
#else
#include "kernels/hip/amd/elementary.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Only CPUs have no comparison of float16 values.
__device__ inline float kept_wide(float a) { return a; }

__device__ inline float logistic(float a) { return 1.0f / (1.0f + exponential(-a)); }
__device__ inline double logistic(double a) { return 1.0 / (1.0 + exponential(-a)); }

// Single instructions of the hardware.
__device__ inline float floor(float a) { return __builtin_elementwise_floor(a); }
__device__ inline double floor(double a) { return __builtin_elementwise_floor(a); }
__device__ inline float ceil(float a) { return __builtin_elementwise_ceil(a); }
__device__ inline double ceil(double a) { return __builtin_elementwise_ceil(a); }
__device__ inline float round_even(float a) { return __builtin_elementwise_roundeven(a); }
__device__ inline double round_even(double a) { return __builtin_elementwise_roundeven(a); }
__device__ inline float truncate(float a) { return __builtin_elementwise_trunc(a); }
__device__ inline double truncate(double a) { return __builtin_elementwise_trunc(a); }
__device__ inline float absolute(float a) { return __builtin_elementwise_abs(a); }
__device__ inline double absolute(double a) { return __builtin_elementwise_abs(a); }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
