// MatMul and Gemm by the matrix-product kernel (kernels/matmul.h).
#pragma once

#include <string>
#include "machine/cpu_machine.h"

#include "codegen/call/kernel_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// The product of a node: the last two axes of each operand are its matrices, exchanged where it is transposed.
struct Product {
  Shape batch;
  Expr rows, columns, depth;
  bool a_is_transposed = false, b_is_transposed = false;
  bool b_is_packed = false;
};

// Takes operands of at least two axes each, of float32 or a half type, whose batch axes are known to be equal or 1.
bool takes_matmul(const Node& node, const CpuMachine& machine);
// A constant right operand without batch axes is packed, as floats. Gemm's factors and its C become the epilogue.
void lower_matmul(const Node& node, const CpuMachine& machine, LoweringContext& context);

// What a call multiplies; null where it is of another kernel.
const Product* find_product(const KernelCall& call);
// A MatrixView of a buffer: its strides.
std::string matrix_view(const KernelText& text, BufferId id, bool is_transposed);
// The extents of the batch axes, those that a kernel expects and the product lacks in front.
std::string matrix_batch(const KernelText& text, const Shape& batch);

}  // namespace onnxc
