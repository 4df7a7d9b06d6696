// Calls of the matrix-product kernel (kernels/cpu/matmul/matmul.h), as attention sees them. Its offer: kernel_rows.h.
#pragma once

#include <string>

#include "codegen/call/kernel_text.h"

namespace onnxc {

// A node as a matrix product: an operand's last two axes are its matrix, exchanged where it is transposed.
struct Product {
  Shape batch;
  Expr rows, columns, depth;
  bool a_is_transposed = false, b_is_transposed = false;
  bool b_is_packed = false;
};

// The product that a call computes; null for the call of another kernel.
const Product* find_product(const KernelCall& call);
// A MatrixView of a buffer: its strides.
std::string matrix_view(const KernelText& text, BufferId id, bool is_transposed);
// The extents of as many batch axes as kernels expect; those that the product lacks, in front, are 1.
std::string matrix_batch(const KernelText& text, const Shape& batch);

}  // namespace onnxc
