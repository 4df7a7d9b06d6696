// Facts about indices that follow from scalars: conditions, and the values of lets.
#pragma once

#include <vector>

#include "ir/expr/facts.h"
#include "ir/program/program.h"

namespace onnxc {

// Whether the condition compares indices at all.
bool compares_indices(const Scalar& condition);

// Adds what it says that the condition is true, or false.
void assume(Facts& facts, const Scalar& condition, bool holds);

// Adds what the value of a let says of it.
void assume_let(Facts& facts, const Program& program, const Let& let);

}  // namespace onnxc
