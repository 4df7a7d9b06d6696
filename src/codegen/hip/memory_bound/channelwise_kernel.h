// Convolutions of groups of few channels, depthwise ones among them: which nodes the channelwise kernel takes, its
// weights and its call.
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Of nodes that the implicit GEMM does not take.
bool takes_channelwise(const Node& node);
void lower_channelwise(const Node& node, LoweringContext& context);

}  // namespace onnxc
