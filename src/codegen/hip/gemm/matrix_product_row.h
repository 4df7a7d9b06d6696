// Matrix products as the implicit-GEMM kernel computes them: matrix_product_row.cpp, and of bytes byte_product_row.cpp.
#pragma once

#include "codegen/hip/gemm/gemm_spec.h"
#include "ir/graph.h"

namespace onnxc {

// A product of two operands as both nodes have it: which logical axes are what.
struct MatrixProduct {
  GemmAxes left, output;
  GemmOperation::Matrix right;
  Expr rows;
  Expr depth;
  int64_t columns, groups = 1;
  Expr batch = 1;
  std::array<Expr, 3> positions = {1, 1, 1};  // of the rows: two axes of the batch, and the rows themselves
};

// Nothing if the kernel does not take the operands of a MatMul.
std::optional<MatrixProduct> as_matmul(const Value& a, const Value& b);

// Whether the second operand is a constant that the compile packs.
bool is_packed(const Value& b, const MatrixProduct& product);

// The kernel's operation for a product of a and b.
GemmOperation matrix_operation(const Value& a, const Value& b, const Graph& graph, kernels::Products products,
                               const MatrixProduct& product);

}  // namespace onnxc
