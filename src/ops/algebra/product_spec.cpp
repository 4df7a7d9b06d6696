#include "ops/algebra/product_spec.h"

#include "ops/op.h"

namespace onnxc {

bool is_gemm(const Node& node) { return is_operator(&node, "Gemm"); }

bool is_matrix_product(const Node& node) { return is_gemm(node) || is_operator(&node, "MatMul"); }

ProductSpec resolve_product(const NodeReader& node) {
  internal_check(is_matrix_product(node.node()), "a matrix product");
  if (!is_gemm(node.node())) return {};
  const float beta = node.real("beta", 1);
  return {.a_is_transposed = node.integer("transA", 0) != 0,
          .b_is_transposed = node.integer("transB", 0) != 0,
          .alpha = node.real("alpha", 1),
          .beta = beta,
          .has_addend = node.has_input(2) && beta != 0};
}

Scalar scaled(const Scalar& term, float factor) {
  return factor == 1 ? term : term * scalar::constant(term.dtype(), static_cast<double>(factor));
}

}  // namespace onnxc
