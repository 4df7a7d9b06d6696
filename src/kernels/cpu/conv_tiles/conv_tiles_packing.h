// Weights of a convolution in the order of conv_tiles.h. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], row-major; they are rounded to bfloat16, and the
// bits of two stand as a float. Throws InternalError when their number is not the shape's.
std::vector<float> pack_tiles_weights(const kernels::ConvShape& shape, std::span<const float> weights);

}  // namespace onnxc
