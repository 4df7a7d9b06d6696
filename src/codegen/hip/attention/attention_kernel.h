// Attention by one kernel (kernels/hip/attention/attention.h).
#pragma once

#include <optional>

#include "ir/program/program.h"
#include "machine/gpu_machine.h"

namespace onnxc {

// Supports products of computed operands over the same batch around a softmax over the last axis. Both are of one type
// that the matrix unit multiplies at once; depth and columns fit the kernel's registers. The scores' epilogue becomes
// the inner one.
std::optional<KernelCall> attention_call(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                         const KernelCall& product, const machine::GpuMachine& gpu);

}  // namespace onnxc
