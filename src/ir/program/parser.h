// Reads the textual form of a program back.
#pragma once

#include <string_view>

#include "ir/program/program.h"

namespace onnxc {

// Reads the text that to_string(Program) writes. Kernels come back as only their text (TextKernel), constants of more
// elements than are printed without data, dims without their known remainders: printed again it is the same text.
// UserError naming the line and what is expected there.
Program parse_program(std::string_view text);

}  // namespace onnxc
