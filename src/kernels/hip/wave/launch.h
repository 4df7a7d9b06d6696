// What a launch and the kernel that it launches must agree on.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// Threads of a block: four wavefronts, one for each SIMD of a compute unit.
inline constexpr int nest_threads = 256;
// Of an MI300X.
inline constexpr int64_t compute_units = 304;
// Channels of a voxel that stand together in blocked layouts.
inline constexpr int64_t block_channels = 16;

}  // namespace onnxc::kernels
