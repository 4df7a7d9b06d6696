// The weights of a convolution in the order of its kernel, whether they are constants or a run computes them.
//
// A kernel's packing only moves weights, or it computes with them (Winograd). One that moves them is asked to pack the
// numbers of the weights: what it gives says where each weight goes, and a run moves computed weights there. So no
// kernel has a second packing for them. The table is as large as the weights; moving 1.7 million of them takes as long
// as 2 to 4 million vector multiply-adds.
#pragma once

#include <vector>

#include "passes/lowering/lower.h"

namespace onnxc {

// Whether the weights can be packed: constants, or as many computed ones as float32 can count.
bool has_packable_weights(const Node& node);

// The weights of a Conv or ConvTranspose. For computed ones their places in row-major order, counted from 1.
std::vector<float> weights_of(const Node& node);

// A constant with packed weights; or if `packed` are places, a temporary that a step added here fills in each run, 0
// being padding.
BufferId packed_buffer(const Node& node, Tensor packed, LoweringContext& context);

}  // namespace onnxc
