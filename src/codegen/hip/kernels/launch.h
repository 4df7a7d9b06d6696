// What a launch and the kernel that it launches must agree on.
#pragma once

#include <stdint.h>

namespace onnxc::kernels {

// Threads of a block: four wavefronts, one for each SIMD of a compute unit.
inline constexpr int nest_threads = 256;

}  // namespace onnxc::kernels
