// Weights of a network's first convolution as conv_stem_winograd.h multiplies them. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_nchw/conv_stem_winograd_geometry.h"

namespace onnxc {

// Transforms `weights`, ONNX's [output channels, input channels, kd, kh, kw], row-major, in double, and packs them in
// the kernel's order. Throws InternalError when the number of weights is not the shape's, or the shape has no such
// form.
std::vector<float> pack_stem_winograd_weights(const kernels::StemWinogradPacking& packing,
                                              std::span<const float> weights);

}  // namespace onnxc
