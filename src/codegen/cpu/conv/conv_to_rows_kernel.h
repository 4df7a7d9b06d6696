// Convolutions that write NCHW: from few input channels by conv_planar.h and conv_planar_winograd.h, from many (and
// transposed ones) by conv_to_rows.h.
#pragma once

#include "codegen/cpu/conv/convolution_call.h"
#include "machine/cpu_machine.h"

namespace onnxc {

// Whether a convolution has such a kernel, a gain is expected, and its rows are long enough to fill vectors.
bool has_kernel_to_rows(const KernelConvolution& convolution, const CpuMachine& machine);
// Lowers the convolution where its output is wanted in NCHW and it has such a kernel. Returns whether it did.
bool lower_where_rows_are_wanted(const Node& node, const KernelConvolution& convolution, const CpuMachine& machine,
                                 LoweringContext& context);

}  // namespace onnxc
