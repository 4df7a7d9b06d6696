// Convolutions by the cheapest of the direct kernel (kernels/conv_direct.h), its form for few input channels
// (conv_stem.h) and Winograd's (conv_stem_winograd.h, conv_winograd.h); conv_choice.h tells which is. What is
// to stand in rows may have a kernel of its own (conv_to_rows_kernel.h).
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Takes a Conv with groups of whole blocks of channels.
bool takes_convolution(const Node& node, const CpuMachine& machine);
void lower_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context);

// Whether the kernel for a Conv reads its input in rows, and whether a Conv or ConvTranspose has one that gives rows.
bool reads_planar(const Node& node);
bool can_give_planar(const Node& node, const CpuMachine& machine);

}  // namespace onnxc
