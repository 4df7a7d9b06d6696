// Matrix products (MatMul, Gemm) on MFMA: which nodes the implicit-GEMM kernel takes, its weights and its call.
//
// The rows of the first operand are the kernel's voxels, its columns the channels. The second operand is a constant, in
// packed order, or a matrix made at run time, one for each of a batch; then a second axis of the batch is the kernel's
// groups and must be static. Columns of both operands must be static too; rows and the batch may be anything.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/lower.h"

namespace onnxc {

bool takes_matrix_product(const Node& node);
// `products`: how those of float32 are made.
void lower_matrix_product(const Node& node, kernels::Products products, LoweringContext& context);

}  // namespace onnxc
