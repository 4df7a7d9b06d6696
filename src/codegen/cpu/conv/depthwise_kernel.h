// Depthwise convolutions by their kernel (conv_depthwise.h).
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Supports a Conv with one filter for each channel.
bool takes_depthwise_convolution(const Node& node, const CpuMachine& machine);
void lower_depthwise_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
