// Weights of transposed convolutions in the order that the CPU kernel reads. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_transpose/conv_transpose_geometry.h"

namespace onnxc {

// `weights` is ONNX ConvTranspose's [input channels, output channels / groups, kd, kh, kw], row-major. Throws
// InternalError when the number of weights is not the shape's, or the kernel does not support the shape.
std::vector<float> pack_transposed_weights(const kernels::ConvShape& shape, int lanes, std::span<const float> weights);

// The same for conv_transpose_packed.h.
std::vector<float> pack_packed_transposed_weights(const kernels::ConvShape& shape, int lanes,
                                                  std::span<const float> weights);

}  // namespace onnxc
