// Leaves out the taps of convolutions that only ever meet padding.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: y = conv(x, w), 3x1x1 with pads of 1 along a depth of 1, where the outer taps read zeros alone.
// After:  y = conv(x, w[:, :, 1:2]), 1x1x1 without pads.
//
// For Conv of known spatial sizes with constant float32 weights; taps are left out at both ends of each axis.
void trim_kernels(Graph& graph);

}  // namespace onnxc
