// Softmax and LogSoftmax over trailing axes, by softmax.h.
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

bool takes_softmax(const Node& node, const CpuMachine& machine);
void lower_softmax(const Node& node, const CpuMachine& machine, LoweringContext& context);

// Whether a call is a Softmax (not a LogSoftmax) over the last axis.
bool is_softmax_of_rows(const KernelCall& call);

}  // namespace onnxc
