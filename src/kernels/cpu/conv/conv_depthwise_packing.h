// Weights of depthwise convolutions in the order that the CPU kernel reads. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv/conv_depthwise_geometry.h"

namespace onnxc {

// `weights` is ONNX's [channels, channels / groups, kd, kh, kw], row-major. Throws InternalError when the number of
// weights is not the shape's, or the kernel does not take the shape.
std::vector<float> pack_depthwise_weights(const kernels::ConvShape& shape, int lanes, std::span<const float> weights);

}  // namespace onnxc
