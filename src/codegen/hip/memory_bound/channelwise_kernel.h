// Convolutions with few channels a group (depthwise among them): which nodes the channelwise kernel supports, their
// weights and calls.
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Supports nodes that the implicit GEMM does not.
bool takes_channelwise(const Node& node);
void lower_channelwise(const Node& node, LoweringContext& context);

}  // namespace onnxc
