// The name of a step: in --report, in comments of the source, in profiles, traces and messages of a run, on both
// targets.
#pragma once

#include <string>

#include "ir/program/program.h"

namespace onnxc {

// "conv_direct 3x3x3 64->64, bfloat16 in float32": a kernel's description, and on the CPU, if an operand is stored in
// 16 bits, that type and the products'. (A GPU's description has its products.) "loops Add" of a nest, "sizes n" and
// "loop i" of what the host decides.
std::string step_title(const Program& program, const Step& step);

}  // namespace onnxc
