// Matrix products (MatMul, Gemm) on MFMA: which nodes the implicit-GEMM kernel supports, their weights and calls.
//
// The first operand's rows are the kernel's voxels, its columns the channels. The second operand is a packed constant,
// or a matrix made at run time, one for each element of a batch; the second batch axis is then the kernel's groups and
// must be static. Columns of both operands must be static; rows and the batch may be dynamic.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"
#include "passes/lowering/lower.h"

namespace onnxc {

bool takes_matrix_product(const Node& node);
// `products`: how float32 is multiplied.
void lower_matrix_product(const Node& node, kernels::Products products, LoweringContext& context);

}  // namespace onnxc
