// HIP's attributes of functions and variables for clang's NVPTX target, whose language CUDA has the same ones.
#pragma once

// Two blocks share a unit, so that one works while the other waits: of its 65,536 registers ptxas may give 128 to a
// thread.
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads, 2)))
#define ONNXC_PLANNED_WAVES
#define ONNXC_ONLY_TWO_WAVES

#define __global__ __attribute__((global))
// A call would keep a product's sums in memory.
#define __device__ __attribute__((device, always_inline))
#define __shared__ __attribute__((shared))
