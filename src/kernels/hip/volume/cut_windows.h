// Windows of a volume, cut out of its slices.
//
// Problem: windows that overlap by a half have each voxel eight times: the host would send each as often.
//
// Method: the host sends each slice once, as float32 and padded. A thread copies an element at a time, in the order of
// the windows, so that a wavefront reads and stores whole cache lines along the last axis.
//
// Bound by: memory, and little of it beside what the model reads and writes.
#pragma once

#include "kernels/hip/volume/places.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// `Element` is the type of the model's input.
template <class Element>
__device__ inline void cut_windows(const CutArguments& arguments) {
  auto* const windows = static_cast<Element*>(arguments.windows);
  uint32_t point;
  if (!has_point(arguments, point)) return;
  int32_t at[window_axes];
  const uint32_t row = arguments.window.split(point, at), window = arguments.channels.quotient(row),
                 channel = row - window * arguments.channels.divisor;
#pragma clang loop unroll(full)
  for (int a = 0; a < window_axes; ++a)
    at[a] = arguments.launched.starts[window][a] +
            mirror(arguments.launched.mirrored, a, at[a], static_cast<int32_t>(arguments.window.extents[a].divisor));
  windows[point] =
      static_cast<Element>(arguments.slices[channel * arguments.ring.channel_stride + arguments.ring.offset(at)]);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
