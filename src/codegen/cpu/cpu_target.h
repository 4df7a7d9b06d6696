// The CPU as a target: NCHWc with blocks as wide as its vectors, and the kernels of kernels/cpu.
#pragma once

#include <string_view>

#include "codegen/cpu/call/weight_form.h"
#include "machine/cpu_machine.h"
#include "passes/lowering/target.h"

namespace onnxc {

// The value of --weights: fast or compact.
WeightForm weight_form(std::string_view name);

Target cpu_target(const CpuMachine& machine, WeightForm weights = WeightForm::fast);

}  // namespace onnxc
