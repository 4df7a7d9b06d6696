// Comparisons, logic, operations on bits, tests of floating-point numbers, and Where.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

Scalar greater(const NodeReader&, const Scalar& a, const Scalar& b) { return less(b, a); }

Scalar greater_or_equal(const NodeReader&, const Scalar& a, const Scalar& b) {
  return scalar::binary(ScalarOp::less_or_equal, b, a);
}

// ---------------------------------------------------------------------------------------------------- BitShift

void infer_bit_shift(InferContext& c) {
  infer_binary<Types::integer>(c);
  std::string direction = c.text("direction", "");
  c.check(direction == "LEFT" || direction == "RIGHT",
          "attribute 'direction' must be \"LEFT\" or \"RIGHT\", found \"{}\"", direction);
}

// A count outside the width shifts everything out: what is left is 0, or, of a negative number to the right, -1.
Scalar bit_shift(const NodeReader& node, const Scalar& a, const Scalar& b) {
  if (node.text("direction", "") == "LEFT") return scalar::binary(ScalarOp::shift_left, a, b);
  const DTypeInfo& type = info(a.dtype());
  if (type.kind == DTypeKind::unsigned_integer) return scalar::binary(ScalarOp::shift_right, a, b);
  Scalar last = number(b, static_cast<double>(type.bits - 1)), zero = number(b, 0);
  Scalar count = scalar::select(less(b, zero), last, minimum(b, last));
  return scalar::binary(ScalarOp::shift_right, a, count);
}

// ----------------------------------------------------------------------------------------------- IsNaN and IsInf

void infer_test_of_one(InferContext& c) {
  expect_type(c, 0, Types::floating);
  c.output(0, DType::boolean, c.shape(0));
}

Scalar is_infinite(const NodeReader& node, const Scalar& x) {
  bool positive = node.integer("detect_positive", 1) != 0, negative = node.integer("detect_negative", 1) != 0;
  Scalar infinite = scalar::unary(ScalarOp::is_infinite, x), zero = number(x, 0);
  if (positive && negative) return infinite;
  if (positive) return both(infinite, less(zero, x));
  if (negative) return both(infinite, less(x, zero));
  return scalar::constant(DType::boolean, 0);
}

// --------------------------------------------------------------------------------------------------------- Where

void infer_where(InferContext& c) {
  expect_type(c, 0, Types::boolean);
  expect_one_type(c, Types::any_or_string, 1);
  c.output(0, c.dtype(1), broadcast_inputs(c));
}

void define_where(DefineContext& c) {
  Operand condition = c.in(0), x = c.in(1), y = c.in(2);
  c.elementwise([&](const std::vector<Expr>& i) {
    return scalar::select(condition(condition.broadcast_indices(i)), x(x.broadcast_indices(i)),
                          y(y.broadcast_indices(i)));
  });
}

using enum LayoutRule;
using enum StorageRule;
using Op = ScalarOp;

constexpr OpRow rows[] = {
    {"", "Equal", infer_test<Types::any_or_string>, define_binary<Op::equal>, unchanged, follows},
    {"", "Less", infer_test<Types::numeric>, define_binary<Op::less>, unchanged, follows},
    {"", "LessOrEqual", infer_test<Types::numeric>, define_binary<Op::less_or_equal>, unchanged, follows},
    {"", "Greater", infer_test<Types::numeric>, define_binary_formula<greater>, unchanged, follows},
    {"", "GreaterOrEqual", infer_test<Types::numeric>, define_binary_formula<greater_or_equal>, unchanged, follows},

    {"", "And", infer_test<Types::boolean>, define_binary<Op::logical_and>, unchanged, follows},
    {"", "Or", infer_test<Types::boolean>, define_binary<Op::logical_or>, unchanged, follows},
    {"", "Xor", infer_test<Types::boolean>, define_binary<Op::logical_xor>, unchanged, follows},
    {"", "Not", infer_like_input<Types::boolean>, define_unary<Op::logical_not>, unchanged, follows},

    {"", "BitwiseAnd", infer_binary<Types::integer>, define_binary<Op::bitwise_and>, unchanged, follows},
    {"", "BitwiseOr", infer_binary<Types::integer>, define_binary<Op::bitwise_or>, unchanged, follows},
    {"", "BitwiseXor", infer_binary<Types::integer>, define_binary<Op::bitwise_xor>, unchanged, follows},
    {"", "BitwiseNot", infer_like_input<Types::integer>, define_unary<Op::bitwise_not>, unchanged, follows},
    {"", "BitShift", infer_bit_shift, define_binary_formula<bit_shift>, unchanged, follows},

    {"", "IsNaN", infer_test_of_one, define_unary<Op::is_nan>, unchanged, follows},
    {"", "IsInf", infer_test_of_one, define_unary_formula<is_infinite>, unchanged, follows},
    {"", "Where", infer_where, define_where, unchanged, follows},
};

}  // namespace

std::span<const OpRow> comparison_logic_ops() { return rows; }

}  // namespace onnxc
