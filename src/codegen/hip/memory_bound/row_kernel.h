// Softmax, LogSoftmax, and the normalisations with statistics, by kernels/hip/memory_bound/normalized_rows.h.
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Adds the call for such a node. False where its loop nests are to be used: for types that the kernels lack, more axes
// than they count, or statistics that are outputs of the model.
bool lower_rows(const Node& node, LoweringContext& context);

// Whether a call is a Softmax over the last axis and nothing else.
bool is_softmax_over_last_axis(const KernelCall& call);

}  // namespace onnxc
