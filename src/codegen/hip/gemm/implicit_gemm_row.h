// The demands of the kernels of convolutions on a convolution: implicit_gemm_row.cpp and channelwise_row.cpp.
#pragma once

#include "codegen/call/kernel_convolution.h"
#include "codegen/hip/gemm/gemm_spec.h"

namespace onnxc {

// Whether the kernels count that many positions.
bool may_count_positions(const KernelConvolution& convolution);
// Whether 31 bits count the elements from plane to plane, as far as the compile knows them.
bool may_step_over_planes(const KernelConvolution& convolution);
// Whether the channels of each group are whole blocks.
bool has_whole_blocks(const kernels::ConvShape& shape);
// The kernel's operation for a convolution of a tensor of so many axes.
GemmOperation convolution_operation(const KernelConvolution& convolution, size_t rank, const kernels::GemmPlan& plan);
// Whether the implicit GEMM supports a convolution.
bool is_for_implicit_gemm(const KernelConvolution& convolution);

}  // namespace onnxc
