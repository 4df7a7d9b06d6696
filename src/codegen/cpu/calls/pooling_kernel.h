// Pools of blocked tensors: windows by kernels/pooling.h, GlobalAveragePool by kernels/channel_moments.h.
#pragma once

#include "passes/lower.h"

namespace onnxc {

// Takes MaxPool without indices and AveragePool.
bool takes_pool(const Node& node, int lanes);
void lower_pool(const Node& node, int lanes, LoweringContext& context);

bool takes_global_average_pool(const Node& node, int lanes);
void lower_global_average_pool(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
