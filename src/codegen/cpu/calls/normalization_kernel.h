// InstanceNormalization and GroupNormalization of blocked tensors: statistics by kernels (kernels/channel_moments.h),
// the rest by the nests of the definition.
#pragma once

#include "passes/lower.h"

namespace onnxc {

bool takes_normalization(const Node& node, int lanes);
void lower_normalization(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
