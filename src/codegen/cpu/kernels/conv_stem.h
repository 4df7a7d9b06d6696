// The first convolution of a network: few input channels (1 to 4 as a rule) in a planar NCDHW tensor, output in blocked
// channels.
//
// Problem: as in conv_direct.h, but a blocked input would be 4 to 16 times its size, and most of each FMA would
// multiply padding. Method: the direct kernel with an input block of one channel. Each tap of each channel is one step:
// a scalar of each of the tile's voxels is broadcast from the image itself (any stride costs the same) and multiplied
// with the output channels' weights. No im2col, no reorder. Limits: groups of whole output blocks, any number of input
// channels per group (direct_supports with input_lanes 1). Bound by: FMA throughput inside; at the borders each tap of
// a tile gathers its pointers anew.
#pragma once

#include "codegen/cpu/kernels/conv_direct.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
using StemConvolution = DirectConvolution<shape, Input, Output, Epilogue, 1>;

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
