// Weights of a convolution in the order of conv_tiles.h. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], row-major. Gives the bits of bfloat16, which they
// are rounded to. Throws InternalError when their number is not the shape's.
std::vector<uint16_t> pack_tiles_weights(const kernels::ConvShape& shape, std::span<const float> weights);

}  // namespace onnxc
