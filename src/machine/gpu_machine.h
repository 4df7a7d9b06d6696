// GPUs as rows of data, of every vendor. Kernels read by the name of an architecture what all its cards share.
#pragma once

#include "machine/amd_machines.h"
#include "machine/nvidia_machines.h"

namespace onnxc::machine {

// The GPU of a compile that names none.
inline constexpr GpuMachine default_gpu = gfx942;

// How long so many bytes take; 0 at a rate that is not known.
constexpr double cycles_for(double bytes, double bytes_a_cycle) {
  return bytes_a_cycle > 0 ? bytes / bytes_a_cycle : 0;
}

// Workgroups that a compute unit holds at once, by the LDS of each, which may have `most_bytes`.
constexpr int64_t blocks_by_lds(const GpuMachine& gpu, int64_t lds_bytes, int64_t most_bytes) {
  return lds_bytes > most_bytes ? 0 : gpu.lds_bytes / (lds_bytes + gpu.taken_lds_bytes);
}
constexpr int64_t blocks_by_lds(const GpuMachine& gpu, int64_t lds_bytes) {
  return blocks_by_lds(gpu, lds_bytes, gpu.block_lds_bytes);
}

}  // namespace onnxc::machine
