// The machine that a program is compiled for, as a row of data.
#pragma once

#include <variant>

#include "machine/cpu_machine.h"
#include "machine/gpu_machine.h"

namespace onnxc {

// Nothing for programs that were read from text, which run nowhere.
using Machine = std::variant<std::monostate, CpuMachine, machine::GpuMachine>;

}  // namespace onnxc
