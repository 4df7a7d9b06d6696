// The GPU of this machine, which --gpu-arch native names.
#pragma once

#include "machine/gpu_machine.h"

namespace onnxc {

// The row that is nearest to the first GPU that NVIDIA's driver or AMD's library finds. ONNXC_CUDA_LIBRARY and
// ONNXC_HIP_LIBRARY name other files of theirs, as for a model.so. Throws UserError if the machine has no GPU, or only
// GPUs that onnxc does not compile for. `as_cubin`: NVIDIA's must be of a generation that a row has, since code that is
// made for another one does not load.
const machine::GpuMachine& native_gpu(bool as_cubin);

}  // namespace onnxc
