// Gives a nest that a kernel of the target computes to that kernel.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

struct Target;

// Before: a nest that copies a tensor from NCHWc to rows. After: a call of the kernel that does so.
//
// For nests that no node asks a kernel for: copies between layouts, and what fusion and placement made of others. It
// comes last, since passes look into a nest, not into a kernel.
void take_nests(Program& program, const Target& target);

}  // namespace onnxc
