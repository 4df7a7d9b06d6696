// Runs a program over expressions instead of numbers: shape arithmetic. What an operator does to small integer tensors
// whose elements are dims is thereby read from its one definition.
#pragma once

#include <optional>
#include <vector>

#include "ir/interpreter/symbolic_number.h"
#include "ir/program/program.h"

namespace onnxc {

// The elements of a tensor in row-major order.
using SymbolicElements = std::vector<SymbolicNumber>;

// Those of a constant; nothing when one is not exactly such a number.
std::optional<SymbolicElements> symbolic_elements(const Tensor& tensor);

// The elements of each output of a program whose nests are evaluated in order, given those of its inputs; nothing for
// an input whose elements are not known, and for an output that has an element that is not: one that loads what is not
// known, depends on a test that is not proven, has a symbolic shape, or takes more than a few thousand steps.
std::vector<std::optional<SymbolicElements>> evaluate_symbolically(
    const Program& program, const std::vector<std::optional<SymbolicElements>>& inputs);

}  // namespace onnxc
