// Calls of kernels/hip/memory_bound/normalized_rows.h, as attention sees them. Their offers: kernel_rows.h.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Whether a call is a Softmax over the last axis and nothing else.
bool is_softmax_over_last_axis(const KernelCall& call);

}  // namespace onnxc
