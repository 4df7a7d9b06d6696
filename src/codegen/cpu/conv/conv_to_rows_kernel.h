// Convolutions that write rows of voxels: from few channels by kernels/conv_planar.h and conv_planar_winograd.h, from
// many and transposed ones by kernels/conv_to_rows.h.
#pragma once

#include "codegen/cpu/conv/convolution_call.h"
#include "machine/cpu_machine.h"

namespace onnxc {

// Whether a convolution has such a kernel that is expected to gain, and rows long enough to fill vectors.
bool has_kernel_to_rows(const KernelConvolution& convolution, const CpuMachine& machine);
// Lowers the convolution where its output is to be in rows and it has such a kernel; whether it did.
bool lower_where_rows_are_wanted(const Node& node, const KernelConvolution& convolution, const CpuMachine& machine,
                                 LoweringContext& context);

}  // namespace onnxc
