// Functions that the kernels of volumes share.
#pragma once

#include "kernels/hip/volume/volume_geometry.h"
#include "kernels/hip/wave/nest.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Gives a thread its point, and returns whether the launch has it.
template <class Arguments>
__device__ inline bool has_point(const Arguments& arguments, uint32_t& point) {
  const int64_t number = block_index() * nest_threads + thread_index();
  point = static_cast<uint32_t>(number);
  return number < arguments.points;
}

// The place in a window that a mirrored one has there.
__device__ inline int32_t mirror(uint32_t mirrored, int axis, int32_t place, int32_t extent) {
  return (mirrored >> axis & 1) != 0 ? extent - 1 - place : place;
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
