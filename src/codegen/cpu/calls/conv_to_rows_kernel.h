// Convolutions that write rows of voxels: from few channels by kernels/conv_planar.h, from many and transposed ones by
// kernels/conv_to_rows.h.
#pragma once

#include "codegen/cpu/calls/convolution_call.h"

namespace onnxc {

// Whether the value is to be written in rows.
bool is_wanted_in_rows(const Value& output, LoweringContext& context);
// Whether a convolution has such a kernel, and rows long enough to fill vectors.
bool has_kernel_to_rows(const KernelConvolution& convolution, int lanes);
void lower_convolution_to_rows(const Node& node, const KernelConvolution& convolution, int lanes,
                               LoweringContext& context);

}  // namespace onnxc
