// Weights of convolutions as Winograd's algorithm multiplies them. Done once, at compile time.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/conv_winograd/conv_winograd_geometry.h"

namespace onnxc {

// Transforms `weights`, ONNX's [output channels, input channels, kd, kh, kw], row-major, in double (G of each axis,
// conv_winograd_points.h), and packs them in the kernel's order. Throws InternalError when the number of weights is
// not the shape's, or the shape has no Winograd form.
std::vector<float> pack_winograd_weights(const kernels::WinogradPacking& packing, std::span<const float> weights);

}  // namespace onnxc
