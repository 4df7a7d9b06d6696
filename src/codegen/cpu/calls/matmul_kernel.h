// MatMul and Gemm by the matrix-product kernel (kernels/matmul.h).
#pragma once

#include "passes/lower.h"

namespace onnxc {

// Takes operands of at least two axes each, of float32 or a half type, whose batch axes are known to be equal or 1.
bool takes_matmul(const Node& node, int lanes);
// A constant right operand without batch axes is packed, as floats. Gemm's factors and its C become the epilogue.
void lower_matmul(const Node& node, int lanes, LoweringContext& context);

}  // namespace onnxc
