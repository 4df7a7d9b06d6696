// The GPU of this machine, which --gpu-arch native names.
#pragma once

#include "machine/gpu_machine.h"

namespace onnxc {

// The row that is nearest to the first GPU that NVIDIA's driver or AMD's library finds. ONNXC_CUDA_LIBRARY and
// ONNXC_HIP_LIBRARY name other files of theirs, as for a model.so. UserError if there is none, or none that onnxc
// compiles for.
const machine::GpuMachine& native_gpu();

}  // namespace onnxc
