// Reads the textual form of a program back.
#pragma once

#include <string_view>

#include "ir/program/program.h"

namespace onnxc {

// What to_string(Program) writes, but for kernel calls, which belong to a target. Constants of more elements than are
// printed come back without data. UserError naming the line and what is expected there.
Program parse_program(std::string_view text);

}  // namespace onnxc
