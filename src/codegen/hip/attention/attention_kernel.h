// Attention by one kernel (kernels/hip/attention/attention.h).
#pragma once

#include "machine/gpu_machine.h"
#include "passes/lowering/target.h"

namespace onnxc {

// Supports products of computed operands over the same batch around a softmax over the last axis. Both are of one type
// that the matrix unit multiplies at once; depth and columns fit the kernel's registers. The scores' epilogue becomes
// the inner one. It is used if the cost model expects it to be faster than the three kernels.
Fusion attention_fusion(const machine::GpuMachine& gpu);

}  // namespace onnxc
