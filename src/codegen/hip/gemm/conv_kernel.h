// Convolutions and transposed convolutions on MFMA: which nodes the implicit-GEMM kernel supports, their weights and
// calls.
#pragma once

#include "codegen/call/kernel_convolution.h"
#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Whether the kernels of convolutions count that many positions.
bool may_count_positions(const KernelConvolution& convolution);
bool takes_implicit_gemm(const Node& node);
// `products`: how float32 is multiplied.
void lower_implicit_gemm(const Node& node, kernels::Products products, LoweringContext& context);

}  // namespace onnxc
