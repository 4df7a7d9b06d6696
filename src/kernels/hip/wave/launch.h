// What a launch and the kernel that it launches must agree on.
#pragma once

#include <stdint.h>

#include "machine/gpu_machine.h"

namespace onnxc::kernels {

// The GPU that kernels are compiled for.
inline constexpr machine::GpuMachine gpu = machine::target_gpu;
// Threads of a block: a wavefront for each SIMD of a compute unit.
inline constexpr int nest_threads = gpu.simds * gpu.wave_lanes;
inline constexpr int64_t compute_units = gpu.compute_units;
inline constexpr int64_t cache_line_bytes = 128;  // of L1 and L2
// Between a kernel and the next that waits for it: published measurements are 2 to 4.
inline constexpr double launch_microseconds = 3;
// The channels of a block in blocked layouts (nCdhw16c).
inline constexpr int64_t block_channels = 16;

}  // namespace onnxc::kernels
