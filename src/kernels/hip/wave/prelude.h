// The part of HIP that our kernels use, so that device code compiles with plain clang and no HIP header.
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

#ifdef __NVPTX__
#include "kernels/hip/nvidia/attributes.h"
#else
#include "kernels/hip/amd/attributes.h"
#endif

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Launches and tiles are planned for one GPU, whose plans every GPU of a model.so carries out; what differs from GPU to
// GPU inside of a kernel follows from this row.
inline constexpr machine::GpuMachine own_gpu = machine::ONNXC_GPU;
inline constexpr int wave_lanes = own_gpu.wave_lanes;

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA

#include "kernels/hip/wave/words.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Products deal out their work to quarters of a block, of 64 threads: a wavefront, or two of 32 lanes.
inline constexpr int quarter_threads = 64;
__device__ inline int quarter_index() { return uniform(thread_index() / quarter_threads); }

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
