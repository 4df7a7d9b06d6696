// The shared parts of the families of elementwise operators: checks of element types, broadcasting, and formulas of one
// or two elements.
#pragma once

#include "ops/op.h"

namespace onnxc {

// The element types that an operator takes; the half types count as floating. `any` are those with a value that can be
// converted, `any_or_string` also those that can only be copied and compared.
enum class Types : uint8_t { any_or_string, any, numeric, floating, integer, boolean };

// Fails unless input i has one of these types.
void expect_type(const NodeReader& node, size_t i, Types types);
// Fails unless the inputs from `first` on have the type of input `first`, and it is one of these.
void expect_one_type(const NodeReader& node, Types types, size_t first = 0);

// The type whose number in TensorProto.DataType an attribute holds; fails unless it is one of these.
DType dtype_attribute(const NodeReader& node, std::string_view attribute, int64_t code, Types types);

// Fails unless input i broadcasts to the shape of input 0 without changing it (ONNX: unidirectional broadcasting).
void expect_broadcasts_to_first(InferContext& c, size_t i);
// The shape of all inputs, broadcast to one another.
Shape broadcast_inputs(InferContext& c);
// The shape of inputs 0 and 1. Before version 7 of the operator set, the second is spread over the axes of the first
// from attribute 'axis' on (default: its last ones), and only if attribute 'broadcast' allows it.
Shape broadcast_pair(InferContext& c);
// The indices of input 1 of such a node, for the element of the output at `indices`.
std::vector<Expr> second_indices(const NodeReader& node, const Operand& second, const std::vector<Expr>& indices);

// Output 0 is like input 0.
template <Types types>
void infer_like_input(InferContext& c) {
  expect_type(c, 0, types);
  c.output(0, c.dtype(0), c.shape(0));
}

template <Types types>
void infer_binary(InferContext& c) {
  expect_one_type(c, types);
  c.output(0, c.dtype(0), broadcast_pair(c));
}

// Tests give booleans.
template <Types types>
void infer_test(InferContext& c) {
  expect_one_type(c, types);
  c.output(0, DType::boolean, broadcast_pair(c));
}

template <ScalarOp op>
void define_unary(DefineContext& c) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return scalar::unary(op, x.compute(i)); });
}

// The value of an output element, from the elements of the inputs in the type that arithmetic is done in.
using UnaryFormula = Scalar (*)(const NodeReader& node, const Scalar& x);
using BinaryFormula = Scalar (*)(const NodeReader& node, const Scalar& a, const Scalar& b);

template <UnaryFormula formula>
void define_unary_formula(DefineContext& c) {
  Operand x = c.in(0);
  c.elementwise([&](const std::vector<Expr>& i) { return formula(c, x.compute(i)); });
}

template <BinaryFormula formula>
void define_binary_formula(DefineContext& c) {
  Operand a = c.in(0), b = c.in(1);
  c.elementwise([&](const std::vector<Expr>& i) {
    return formula(c, a.compute(a.broadcast_indices(i)), b.compute(second_indices(c, b, i)));
  });
}

template <ScalarOp op>
void define_binary(DefineContext& c) {
  define_binary_formula<[](const NodeReader&, const Scalar& a, const Scalar& b) { return scalar::binary(op, a, b); }>(
      c);
}

// A number of the type of `like`.
inline Scalar number(const Scalar& like, double value) { return scalar::constant(like.dtype(), value); }
inline Scalar less(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::less, a, b); }
inline Scalar equal(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::equal, a, b); }
inline Scalar negated(const Scalar& condition) { return scalar::unary(ScalarOp::logical_not, condition); }
inline Scalar any_of(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::logical_or, a, b); }
inline Scalar maximum(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::maximum, a, b); }
inline Scalar minimum(const Scalar& a, const Scalar& b) { return scalar::binary(ScalarOp::minimum, a, b); }
inline Scalar exponential(const Scalar& x) { return scalar::unary(ScalarOp::exponential, x); }
inline Scalar logarithm(const Scalar& x) { return scalar::unary(ScalarOp::logarithm, x); }
inline Scalar absolute(const Scalar& x) { return scalar::unary(ScalarOp::absolute, x); }
inline Scalar square_root(const Scalar& x) { return scalar::unary(ScalarOp::square_root, x); }

}  // namespace onnxc
