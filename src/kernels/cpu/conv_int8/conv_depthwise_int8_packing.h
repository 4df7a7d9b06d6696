// Weights of depthwise convolutions of bytes in the order of conv_depthwise_int8.h. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv_int8/conv_depthwise_int8_geometry.h"

namespace onnxc {

// `weights` is ONNX's [channels, 1, kd, kh, kw], row-major, less their zero point. Throws InternalError when their
// number is not the shape's, or the kernel does not take the shape.
std::vector<uint8_t> pack_depthwise_int8_weights(const kernels::ConvShape& shape, int lanes,
                                                 std::span<const int8_t> weights);

}  // namespace onnxc
