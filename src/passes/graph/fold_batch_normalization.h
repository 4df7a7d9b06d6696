// Folds BatchNormalization into the convolution before it.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Before: y = scale * (conv(x, w) + b - mean) / sqrt(variance + epsilon) + shift.
// After:  y = conv(x, w * a) + (b - mean) * a + shift, with a = scale / sqrt(variance + epsilon) a channel.
//
// For Conv and ConvTranspose with constant weights whose only user is the normalisation, which is in inference mode
// with constant parameters. Computed in double. Float32 and wider only: half weights would lose bits.
void fold_batch_normalization(Graph& graph);

}  // namespace onnxc
