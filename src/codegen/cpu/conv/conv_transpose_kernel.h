// Transposed convolutions by their kernels (conv_transpose.h, conv_transpose_packed.h, conv_to_rows.h).
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// Supports a ConvTranspose whose groups are whole channel blocks.
bool takes_transposed_convolution(const Node& node, const CpuMachine& machine);
void lower_transposed_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context);

}  // namespace onnxc
