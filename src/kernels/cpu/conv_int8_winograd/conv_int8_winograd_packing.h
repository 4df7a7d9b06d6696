// Weights of Winograd on bytes in the order of conv_int8_winograd.h. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv_int8_winograd/conv_int8_winograd_geometry.h"

namespace onnxc {

// Whether each sum that these weights can give is below the packing's limit, whatever the input. `weights` is ONNX's
// [output channels, input channels, kd, kh, kw], row-major.
bool int8_winograd_is_exact(const kernels::Int8WinogradPacking& packing, std::span<const int8_t> weights);

// `weights` as above; their zero point is 0. `zero_point` is the input's, as an int8: of an uint8 input 128 less.
// Throws InternalError when the kernel does not support the packing's shape, or the number of weights is not the
// shape's.
std::vector<uint8_t> pack_int8_winograd_weights(const kernels::Int8WinogradPacking& packing, int8_t zero_point,
                                                std::span<const int8_t> weights);

}  // namespace onnxc
