// Runs a program over expressions instead of numbers: shape arithmetic. So the effect of an operator on small integer
// tensors of dims follows from its one definition.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/interpreter/symbolic_number.h"
#include "ir/program/program.h"

namespace onnxc {

// The elements of a tensor in row-major order.
using SymbolicElements = std::vector<SymbolicNumber>;

// The elements of values that are not integers, on their way between nodes: exporters scale sizes in floats (Cast ->
// Mul
// -> Floor -> Cast in front of a Resize).
using RealElements = std::unordered_map<const Value*, SymbolicElements>;

// Those of a constant; nothing when one is not exactly such a number.
std::optional<SymbolicElements> symbolic_elements(const Tensor& tensor);

// Evaluates the program's nests in order and returns the elements of each output, given those of each input (nothing
// for an input whose elements are not known). An output is nothing if one of its elements loads an unknown one or
// depends on an unproven test, if its shape is symbolic, or if it takes more than a few thousand steps.
std::vector<std::optional<SymbolicElements>> evaluate_symbolically(
    const Program& program, const std::vector<std::optional<SymbolicElements>>& inputs);

}  // namespace onnxc
