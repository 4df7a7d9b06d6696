// The CPU as a target: NCHWc with blocks as wide as its vectors, and the kernels of kernels/cpu.
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/target.h"

namespace onnxc {

Target cpu_target(const CpuMachine& machine);

}  // namespace onnxc
