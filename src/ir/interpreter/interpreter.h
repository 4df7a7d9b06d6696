// Runs a program on concrete tensors, exactly as loops.h defines its meaning: for constant folding, and as the oracle
// for fast kernels and printed loops. Simplicity comes before speed: about ten million loads a second.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

// The outputs of the program, given its dims and its inputs. Every access is checked against the logical shape of its
// buffer: InternalError names the nest, the buffer and the index. Memory that nothing has written holds NaN (0xcb bytes
// in integers). Kernel calls are refused with InternalError: lower to loops first.
std::vector<Tensor> interpret(const Program& program, const std::map<Symbol, int64_t>& dims,
                              std::span<const Tensor> inputs);

}  // namespace onnxc
