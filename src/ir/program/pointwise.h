// Nests that compute element by element.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Whether the nest computes each element of one buffer from the element of `input` at the same indices.
bool is_pointwise_on(const Program& program, const LoopNest& nest, BufferId input);

}  // namespace onnxc
