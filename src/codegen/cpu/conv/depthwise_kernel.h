// Depthwise convolutions by their kernel (kernels/conv_depthwise.h).
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Takes a Conv with one filter for each channel.
bool takes_depthwise_convolution(const Node& node, int lanes);
void lower_depthwise_convolution(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
