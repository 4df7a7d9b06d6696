// Drops the taps of convolutions that only ever read padding.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: y = conv(x, w), 3x1x1 with pads of 1 along a depth of 1, the outer taps read only zeros. After:  y = conv(x,
// w[:, :, 1:2]), 1x1x1 without pads.
//
// For Conv with static spatial sizes and constant float32 weights; taps are dropped at both ends of each axis.
void trim_kernels(Graph& graph);

}  // namespace onnxc
