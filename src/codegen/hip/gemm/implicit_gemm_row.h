// The demands of the kernels of convolutions on a convolution: implicit_gemm_row.cpp and channelwise_row.cpp.
#pragma once

#include "codegen/call/kernel_convolution.h"

namespace onnxc {

// Whether the kernels count that many positions.
bool may_count_positions(const KernelConvolution& convolution);
// Whether the implicit GEMM supports a convolution.
bool is_for_implicit_gemm(const KernelConvolution& convolution);

}  // namespace onnxc
