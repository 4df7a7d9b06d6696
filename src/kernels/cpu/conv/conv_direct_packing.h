// Weights of convolutions in the orders that the CPU kernels read. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv/conv_direct_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels / groups, kd, kh, kw], row-major; `lanes` is the target's block
// of channels. Throws InternalError when the number of weights is not the shape's, or the kernel does not support the
// shape.
std::vector<float> pack_direct_weights(const kernels::ConvShape& shape, int lanes, int input_lanes,
                                       std::span<const float> weights);

// The same in pairs of bfloat16, which the weights are rounded to: their bits, the pairs in the order of the floats.
std::vector<uint16_t> pack_direct_pairs(const kernels::ConvShape& shape, int lanes, std::span<const float> weights);

}  // namespace onnxc
