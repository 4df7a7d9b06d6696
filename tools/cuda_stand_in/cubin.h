// The facts about a module that the driver reads in a cubin, which is an ELF file of machine code.
#pragma once

#include "cuda_stand_in/ptx.h"

namespace cuda_stand_in {

bool is_cubin(const char* image);

// The same facts as of PTX; `version` is that of the CUDA whose ptxas made it (135 for 13.5). Throws
// gpu_streams::Refusal for an image that is not a whole cubin.
PtxModule read_cubin(const char* image);

}  // namespace cuda_stand_in
