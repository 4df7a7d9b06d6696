// CUresult's numbers that gpu_streams does not have.
#pragma once

#include "gpu_streams/refusal.h"

namespace cuda_stand_in {

enum CudaError : int {
  not_initialized = 3,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  illegal_address = 700,
  launch_out_of_resources = 701,
  context_is_destroyed = 709
};

// After these a context fails every call.
inline bool ends_context(int code) { return code == illegal_address || code == gpu_streams::launch_failure; }

const char* text_of(int code);

}  // namespace cuda_stand_in
