// Convolutions by the cheapest of the direct kernel (kernels/conv_direct.h), its form for few input channels
// (conv_stem.h) and Winograd's (conv_stem_winograd.h, conv_winograd.h); conv_choice.h tells which is.
#pragma once

#include "passes/lower.h"

namespace onnxc {

// Takes a Conv with groups of whole blocks of channels.
bool takes_convolution(const Node& node, int lanes);
void lower_convolution(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
