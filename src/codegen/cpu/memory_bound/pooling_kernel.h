// Pools of NCHWc tensors: windows by pooling.h, GlobalAveragePool by channel_moments.h.
#pragma once

#include <array>
#include "machine/cpu_machine.h"

#include "ops/network/conv_spec.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Supports MaxPool without indices, and AveragePool.
bool takes_pool(const Node& node, const CpuMachine& machine);
void lower_pool(const Node& node, const CpuMachine& machine, LoweringContext& context);

// The axes of a max pool without padding, dilation or overlap; nothing for any other call.
std::optional<std::array<WindowAxis, 3>> separate_maximum_windows(const KernelCall& call);

bool takes_global_average_pool(const Node& node, const CpuMachine& machine);
void lower_global_average_pool(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
