// Reads the textual form of a program back.
#pragma once

#include <string_view>

#include "ir/program/program.h"

namespace onnxc {

// Reads what to_string(Program) writes, except kernel calls, which belong to a target. Constants with more elements
// than are printed come back without data. UserError names the line and what is expected there.
Program parse_program(std::string_view text);

}  // namespace onnxc
