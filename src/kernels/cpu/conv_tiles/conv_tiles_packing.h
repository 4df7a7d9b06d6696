// Weights in the order of conv_tiles.h. Done once, at compile time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"

namespace onnxc {

// `weights` is ONNX's [output channels, input channels, kd, kh, kw], row-major. Throws InternalError when their number
// is not what the shape says. Rounded to bfloat16, as its bits:
std::vector<uint16_t> pack_tiles_weights(const kernels::ConvShape& shape, std::span<const float> weights);
// Less their zero point; `zero_point` is the input's, as an unsigned byte: of an int8 input 128 more.
std::vector<uint8_t> pack_tiles_weights(const kernels::ConvShape& shape, uint8_t zero_point,
                                        std::span<const int8_t> weights);
// As digits (conv_tiles_digits.h), with a unit for each output channel.
std::vector<uint8_t> pack_tiles_digits(const kernels::ConvShape& shape, std::span<const float> weights);
// Whether digits are exact enough: each output channel's weights are finite, and none is above 32 times their root mean
// square. An output is then off by 2^-24 * 32 of its usual size, by the weights' rounding.
bool have_digits(const kernels::ConvShape& shape, std::span<const float> weights);

}  // namespace onnxc
