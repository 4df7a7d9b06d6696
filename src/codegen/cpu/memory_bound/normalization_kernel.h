// InstanceNormalization and GroupNormalization of NCHWc tensors, and of NCHW ones with few channels: kernels compute
// the statistics (channel_moments.h), the nests of the definition do the rest.
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

bool takes_normalization(const Node& node, const CpuMachine& machine);
// Supports so few channels that NCHWc blocks would be mostly padding: NCHW is as good.
bool takes_normalization_of_few_channels(const Node& node, const CpuMachine& machine);
void lower_normalization(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
