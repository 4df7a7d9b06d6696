// Softmax, LogSoftmax, and the normalisations that have statistics, by the kernels for rows
// (kernels/normalized_rows.h).
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Writes the call for a node of these; false where its loops are to be used: other types than the kernels', more axes
// than they count, statistics that the model wants for itself.
bool lower_rows(const Node& node, LoweringContext& context);

// Whether a call is a Softmax over the last axis, of which nothing is computed but the softmax.
bool is_softmax_over_last_axis(const KernelCall& call);

}  // namespace onnxc
