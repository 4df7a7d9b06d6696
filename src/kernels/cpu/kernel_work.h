// The facts that every CPU kernel tells its caller. This file and the *_geometry.h beside each kernel hold what
// compiler, weight packer and kernel must agree on. They are pure functions without vector types, so the compiler
// includes them for any instruction set and passes the number of lanes.
#pragma once

#include <cstdint>

#include "machine/vector_unit.h"

namespace onnxc::kernels {

// The amount of work for given sizes. Tasks are independent and run in any order on any number of threads; the bits of
// the result depend on neither. Each thread brings its own scratch, aligned to 64 bytes.
struct KernelWork {
  int64_t tasks;
  int64_t scratch_bytes;
};

// Bytes that work may count on.
inline constexpr int64_t second_level_cache = 1024 * 1024;

}  // namespace onnxc::kernels
