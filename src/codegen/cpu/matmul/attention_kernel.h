// Attention by one kernel (kernels/cpu/attention/attention.h).
#pragma once

#include <optional>

#include "ir/program/program.h"
#include "machine/vector_unit.h"

namespace onnxc {

// Supports float32 products of computed operands over the same batch axes around a softmax over the last axis, with a
// known depth that the kernel's tiles hold. The scores' epilogue becomes the inner one.
std::optional<KernelCall> attention_call(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                         const KernelCall& product, const machine::VectorUnit& vectors);

}  // namespace onnxc
