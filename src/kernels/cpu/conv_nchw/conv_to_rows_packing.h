// Weights of convolutions from many channels to few in the order that their kernel reads. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_nchw/conv_to_rows_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], of a transposed convolution [input channels,
// output channels, kd, kh, kw], row-major. Throws InternalError when the number of weights is not the shape's.
std::vector<float> pack_to_rows_weights(const kernels::RowsPacking& packing, std::span<const float> weights);

}  // namespace onnxc
