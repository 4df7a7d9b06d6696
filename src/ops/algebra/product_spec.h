// The attributes of MatMul and Gemm, resolved once. Shape inference, the definitions and every kernel read this and
// nothing else.
#pragma once

#include "ir/loops/loops.h"

namespace onnxc {

class NodeReader;
struct Node;

// y[batch..., rows, columns] = alpha * a * b + beta * c; an operand's last two axes are its matrix, exchanged if it is
// transposed.
struct ProductSpec {
  bool a_is_transposed = false, b_is_transposed = false;  // Gemm only
  float alpha = 1, beta = 1;                              // Gemm only
  bool has_addend = false;                                // input 2, with a factor other than 0: Gemm only

  // The place of an operand's axis, counted from the first axis of its matrix: 0 or 1.
  size_t a_row_axis() const { return a_is_transposed ? 1 : 0; }
  size_t a_depth_axis() const { return a_is_transposed ? 0 : 1; }
  size_t b_depth_axis() const { return b_is_transposed ? 1 : 0; }
  size_t b_column_axis() const { return b_is_transposed ? 0 : 1; }
};

// Whether a node is a MatMul or a Gemm of ONNX.
bool is_matrix_product(const Node& node);
bool is_gemm(const Node& node);
// MatMul (ONNX 1, 9, 13) and Gemm (1, 6, 7, 9, 11, 13).
ProductSpec resolve_product(const NodeReader& node);
// A term of the product by its factor; by 1 it stays as it is.
Scalar scaled(const Scalar& term, float factor);

}  // namespace onnxc
