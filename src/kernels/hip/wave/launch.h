// The contract of a launch and the kernel that it launches, on every GPU.
#pragma once

#include <stdint.h>

#include "machine/gpu_machine.h"

namespace onnxc::kernels {

// Geometry that depends on the GPU takes its row: the compiler and the host file that of the GPU which the program is
// planned for, a kernel that of its own (own_gpu).
using machine::GpuMachine;

// Threads of a block: a wavefront for each SIMD of a compute unit that has MFMA, several if wavefronts are narrower.
inline constexpr int nest_threads = 256;
// HIP counts the threads of a launch in 32 bits.
inline constexpr int64_t most_launch_blocks = UINT32_MAX / nest_threads;
inline constexpr int64_t cache_line_bytes = 128;  // of L1 and L2
// Between a kernel and the next that waits for it: published measurements are 2 to 4.
inline constexpr double launch_microseconds = 3;
// The channels of a block in blocked layouts (nCdhw16c).
inline constexpr int64_t block_channels = 16;

// Wavefronts of a block on each SIMD unit of its compute unit.
constexpr int64_t block_waves(const GpuMachine& gpu) { return nest_threads / (gpu.simds * gpu.wave_lanes); }

}  // namespace onnxc::kernels
