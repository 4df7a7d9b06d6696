// Which numbers that hold sizes a type has exactly, for all sizes up to maximum_symbolic_size: only of these is it
// known what a run computes.
#pragma once

#include "ir/interpreter/symbolic_number.h"

namespace onnxc {

bool is_power_of_two(int64_t value);
// The greatest common divisor of the coefficients; 0 of 0.
int64_t common_coefficient(const Expr& expr);

// Whether a floating type holds the number: a power of two times an integer of few bits.
bool is_exact(DType dtype, const SymbolicNumber& a);

// Whether it is n/d with an n that the type holds: a quotient that is rounded once. Its distance from any integer is 0,
// or 1/d or more, and the error is less: its floor, and its place among the integers, are those of the exact quotient.
bool is_quotient(DType dtype, const SymbolicNumber& a);

// Whether an integer type does not wrap. A product of different sizes counts the elements of a tensor: a model that
// counts them in 32 bits has fewer than 2^31. A power of a size counts none.
bool is_within_integer(DType dtype, const SymbolicNumber& a);

}  // namespace onnxc
