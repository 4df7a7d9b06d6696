// Weights of convolutions between few channels in the order that their kernel reads. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], row-major. Throws InternalError when the kernel
// does not take the shape, or the number of weights is not the shape's.
std::vector<float> pack_planar_weights(const kernels::ConvShape& shape, std::span<const float> weights);

}  // namespace onnxc
