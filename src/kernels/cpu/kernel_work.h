// What every kernel of the CPU tells its caller. Here and in the *_geometry.h beside the kernels stands what compiler,
// weight packer and kernel must agree on: pure functions, no vector types, so that the compiler includes them for any
// instruction set and passes its number of lanes.
#pragma once

#include <cstdint>

#include "machine/vector_unit.h"

namespace onnxc::kernels {

// How much there is to do for given sizes. Tasks are independent and may run in any order on any number of threads; the
// bits of the result depend on neither. Each thread brings its own scratch, aligned to 64 bytes.
struct KernelWork {
  int64_t tasks;
  int64_t scratch_bytes;
};

// Bytes that work may count on.
inline constexpr int64_t second_level_cache = 1024 * 1024;

}  // namespace onnxc::kernels
