// Matrix products as their kernels and attention see them. Their offers: kernel_rows.h.
#pragma once

#include <string>

#include "codegen/cpu/call/kernel_spec.h"

namespace onnxc {

// A node as a matrix product: an operand's last two axes are its matrix, exchanged if it is transposed.
struct Product {
  Shape batch;
  Expr rows, columns, depth;
  bool a_is_transposed = false, b_is_transposed = false;
  bool b_is_packed = false;
};

Product product_of(const Node& node);
// Whether kernels compute the node: MatMul or Gemm with operands of two axes or more, of a kernel's type, whose batch
// axes are known to be equal or 1.
bool is_product_for_kernels(const Node& node);
// Whether a right operand is constant and without batch axes.
bool can_be_packed(const Value& b);

// Its MatmulSizes, and its operations: a multiplication and an addition for each row, column and depth.
std::string product_sizes(const KernelText& text, const Product& product);
Expr product_operations(const Product& product);

// The call of a product, as a fusion sees it.
class ProductCallSpec : public CpuKernelSpec {
 public:
  virtual const Product& product() const = 0;
};

// A MatrixView of a buffer: its strides.
std::string matrix_view(const KernelText& text, BufferId id, bool is_transposed);
// The extents of as many batch axes as kernels expect; those that the product lacks, in front, are 1.
std::string matrix_batch(const KernelText& text, const Shape& batch);

}  // namespace onnxc
