// Transposed convolutions by their kernels (kernels/conv_transpose.h, conv_transpose_packed.h, conv_to_rows.h).
#pragma once

#include "passes/lowering/lower.h"

namespace onnxc {

// Takes a ConvTranspose with groups of whole blocks of channels.
bool takes_transposed_convolution(const Node& node, int lanes);
void lower_transposed_convolution(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
