// Finds subgraphs that exporters write where there is an operator that means the same.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: Reshape to [N, groups, -1], InstanceNormalization, Reshape back. After: GroupNormalization, which leaves the
// layout of its input alone. Constant scale and shift only.
//
// Before: ReduceMean over all spatial axes, which are kept as 1. After: GlobalAveragePool.
void recognize_operators(Graph& graph);

}  // namespace onnxc
