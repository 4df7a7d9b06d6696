// Attention by one kernel (kernels/attention.h).
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// Takes products of computed operands over the same batch, of one type whose products the matrix unit makes at once,
// with a depth and columns that the kernel's registers hold, around a softmax over the last axis. The scores' epilogue
// becomes the inner one.
std::optional<KernelCall> attention_call(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                         const KernelCall& product);

}  // namespace onnxc
