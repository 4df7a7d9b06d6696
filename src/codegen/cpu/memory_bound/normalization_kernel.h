// InstanceNormalization and GroupNormalization of blocked tensors, and of few channels in rows: statistics by kernels
// (kernels/channel_moments.h), the rest by the nests of the definition.
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

bool takes_normalization(const Node& node, const CpuMachine& machine);
// So few channels that the blocks of a tensor would be mostly padding: rows do as well.
bool takes_normalization_of_few_channels(const Node& node, const CpuMachine& machine);
void lower_normalization(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
