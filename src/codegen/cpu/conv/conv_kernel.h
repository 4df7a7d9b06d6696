// Convolutions by the cheapest kernel that conv_choice.h finds: direct (conv_direct.h), its form for few input channels
// (conv_stem.h), or Winograd (conv_stem_winograd.h, conv_winograd.h). An output wanted in NCHW may have a kernel of its
// own (conv_to_rows_kernel.h).
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Supports a Conv whose groups are whole channel blocks.
bool takes_convolution(const Node& node, const CpuMachine& machine);
void lower_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context);

// Whether the kernel for a Conv reads NCHW, and whether a Conv or ConvTranspose has a kernel that writes NCHW.
bool reads_planar(const Node& node);
bool can_give_planar(const Node& node, const CpuMachine& machine);

}  // namespace onnxc
