// MatMul and Gemm by the matrix-product kernel (kernels/cpu/matmul/matmul.h).
#pragma once

#include <string>
#include "machine/cpu_machine.h"

#include "codegen/call/kernel_text.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// A node as a matrix product: an operand's last two axes are its matrix, exchanged where it is transposed.
struct Product {
  Shape batch;
  Expr rows, columns, depth;
  bool a_is_transposed = false, b_is_transposed = false;
  bool b_is_packed = false;
};

// Supports operands of two axes or more, of float32 or a half type, whose batch axes are known to be equal or 1.
bool takes_matmul(const Node& node, const CpuMachine& machine);
// A constant right operand without batch axes is packed as floats. Gemm's factors and its C become the epilogue.
void lower_matmul(const Node& node, const CpuMachine& machine, LoweringContext& context);

// The product that a call computes; null for the call of another kernel.
const Product* find_product(const KernelCall& call);
// A MatrixView of a buffer: its strides.
std::string matrix_view(const KernelText& text, BufferId id, bool is_transposed);
// The extents of as many batch axes as kernels expect; those that the product lacks, in front, are 1.
std::string matrix_batch(const KernelText& text, const Shape& batch);

}  // namespace onnxc
