// Attention by one kernel (kernels/attention.h).
#pragma once

#include <optional>

#include "ir/program/program.h"

namespace onnxc {

// Takes float32 products of computed operands over the same batch axes, with a known depth that the kernel's tiles
// hold, around a softmax over the last axis. The scores' epilogue becomes the inner one.
std::optional<KernelCall> attention_call(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                         const KernelCall& product, int lanes);

}  // namespace onnxc
