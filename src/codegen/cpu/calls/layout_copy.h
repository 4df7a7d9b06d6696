// Copies between blocks of channels and rows by their kernel (kernels/layout_copy.h).
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// The call that does what the nest does, when that is to bring a whole tensor of floats from one layout to the other.
std::optional<KernelCall> as_layout_copy(const Program& program, const LoopNest& nest, int64_t lanes);

}  // namespace onnxc
