// Transposed convolutions by their kernels (kernels/conv_transpose.h, conv_transpose_packed.h, conv_to_rows.h).
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Takes a ConvTranspose with groups of whole blocks of channels.
bool takes_transposed_convolution(const Node& node, const CpuMachine& machine);
void lower_transposed_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
