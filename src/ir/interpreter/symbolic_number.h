// Numbers known as expressions of dims: the values of shape arithmetic. A real is an expression over a constant
// denominator, so that `Cast(Floor(Cast(D) * 0.5))` is D // 2.
//
// A result is what the run computes, in its type: a number without dims as the interpreter computes it, rounded; one
// with dims exactly, if the type holds it for all sizes up to maximum_symbolic_size. So D * 0.5 is known in float32,
// and D * 0.7, D * H and D * 1.5 are not: for large sizes the product is rounded. Unknown results are left to the run.
#pragma once

#include <optional>

#include "ir/loops/scalar_arithmetic.h"

namespace onnxc {

// Sizes above it are not exact in float32: results of shape arithmetic in float are not promised there.
constexpr int64_t maximum_symbolic_size = (int64_t{1} << 24) - 1;

// The value numerator / denominator. The denominator is positive, and 1 for integers and booleans (0 or 1). It is a
// power of two, or the value is a quotient that a floating type rounds.
struct SymbolicNumber {
  Expr numerator = 0;
  int64_t denominator = 1;

  // The expression that this is, when it is whole.
  std::optional<Expr> integer() const;
  // The same value as a constant of this type; nothing if it holds dims.
  std::optional<ScalarValue> known(DType dtype) const;
  bool operator==(const SymbolicNumber&) const = default;
};

// Each returns nothing if the result is not such a number, or if what it depends on is not proven. int64 is assumed not
// to overflow, nor int32 if it counts elements of tensors.
std::optional<SymbolicNumber> symbolic_constant(DType dtype, ScalarValue value);
std::optional<SymbolicNumber> symbolic_unary(ScalarOp op, DType operand, const SymbolicNumber& a);
std::optional<SymbolicNumber> symbolic_binary(ScalarOp op, DType operand, const SymbolicNumber& a,
                                              const SymbolicNumber& b);
// Also what a store makes of a number that is computed in a wider type.
std::optional<SymbolicNumber> symbolic_cast(DType to, DType from, const SymbolicNumber& a);

}  // namespace onnxc
