// Weights of convolutions in groups of few channels in the order that the CPU kernel reads. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_grouped/conv_grouped_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels / groups, kd, kh, kw], or of a transposed convolution
// [input channels, output channels / groups, kd, kh, kw], row-major. Throws InternalError when the number of weights is
// not the shape's, or the kernel does not take the shape.
std::vector<float> pack_grouped_weights(const kernels::ConvShape& shape, int lanes, bool is_transposed,
                                        std::span<const float> weights);

}  // namespace onnxc
