// HIP's attributes of functions and variables for clang's NVPTX target, whose language CUDA has the same ones.
#pragma once

// The threads of a block and, if they are planned, the blocks that share a unit: ptxas deals out its 65,536 registers
// for them.
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#define __global__ __attribute__((global))
// A call would keep a product's sums in memory.
#define __device__ __attribute__((device, always_inline))
#define __shared__ __attribute__((shared))
