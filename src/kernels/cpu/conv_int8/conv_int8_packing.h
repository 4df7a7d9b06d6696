// Weights of a convolution of bytes in the order of conv_int8.h. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv_int8/conv_int8_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], row-major; their zero point is 0. `zero_point` is
// the input's, as an unsigned byte: of an int8 input 128 more. Throws InternalError when the number of weights is not
// the shape's.
std::vector<uint8_t> pack_int8_weights(const kernels::ConvShape& shape, int lanes, uint8_t zero_point,
                                       std::span<const int8_t> weights);

}  // namespace onnxc
