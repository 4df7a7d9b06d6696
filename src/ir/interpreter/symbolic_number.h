// Numbers known as expressions of dims: the values of shape arithmetic. A real is an expression over a constant
// denominator, so that `Cast(Floor(Cast(D) * 0.5))` is D // 2.
#pragma once

#include <optional>

#include "ir/loops/scalar_arithmetic.h"

namespace onnxc {

// The exact value numerator / denominator. The denominator is positive, and 1 for integers and booleans (0 or 1).
struct SymbolicNumber {
  Expr numerator = 0;
  int64_t denominator = 1;

  // The expression that this is, when it is whole.
  std::optional<Expr> integer() const;
  bool operator==(const SymbolicNumber&) const = default;
};

// Each returns nothing where the result is no such number, or where what it depends on is not proven. Integers are
// assumed not to overflow their dtype and reals not to be rounded: sizes are below 2^24, and the only constants
// accepted are fractions with a small power of two as denominator, such as the scales 0.5 and 1.25.
std::optional<SymbolicNumber> symbolic_constant(DType dtype, ScalarValue value);
std::optional<SymbolicNumber> symbolic_unary(ScalarOp op, DType operand, const SymbolicNumber& a);
std::optional<SymbolicNumber> symbolic_binary(ScalarOp op, DType operand, const SymbolicNumber& a,
                                              const SymbolicNumber& b);
std::optional<SymbolicNumber> symbolic_cast(DType to, DType from, const SymbolicNumber& a);

}  // namespace onnxc
