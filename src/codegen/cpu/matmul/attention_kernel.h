// Attention by one kernel (kernels/cpu/attention/attention.h).
#pragma once

#include "machine/vector_unit.h"
#include "passes/lowering/target.h"

namespace onnxc {

// Supports float32 products of computed operands over the same batch axes around a softmax over the last axis, with a
// known depth that the kernel's tiles hold. The scores' epilogue becomes the inner one.
Fusion attention_fusion(const machine::VectorUnit& vectors);

}  // namespace onnxc
