// Calls of softmax.h, as attention sees them. Their offer: kernel_rows.h.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Whether a call is a Softmax (not a LogSoftmax) over the last axis.
bool is_softmax_of_rows(const KernelCall& call);

}  // namespace onnxc
