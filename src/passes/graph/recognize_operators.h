// Finds subgraphs that exporters write where there is an operator that means the same.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: Reshape to [N, groups, -1], InstanceNormalization, Reshape back. After: GroupNormalization, which leaves the
// layout of its input alone. Constant scale and shift only.
//
// Before: Reshape that only adds or drops axes of 1, Add, Reshape back. After: Add alone, of the other operand without
// those axes: the mask of a window attention, which is added to scores that a view gave one more axis. The operand's
// dims must be constant.
//
// Before: ReduceMean over all spatial axes, which are kept as 1. After: GlobalAveragePool.
void recognize_operators(Graph& graph);

}  // namespace onnxc
