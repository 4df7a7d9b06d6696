// The weighted sums of what a model made of windows.
//
// Problem: an output of 14 classes is 50 MB for a window of 96^3, and each voxel has eight of them: more than the bus
// carries in the time that the model takes.
//
// Method: sums stay on the GPU, in a ring of slices. A thread has a place and some channels, and adds the windows of
// the run that cover it, in their order: the bits are those of one window after the other. Places that
// windows of a run share are read and stored once.
//
// Bound by: memory: it reads each value once, and reads and stores each sum once for each run that covers it.
#pragma once

#include "kernels/hip/volume/places.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// `Value` is the type of the model's output.
template <class Value>
struct WindowSums {
  const AddArguments& arguments;
  int32_t first_channel;
  float sums[channels_a_thread];

  __device__ int32_t count() const { return arguments.channels + arguments.adds_weights; }
  __device__ bool has(int channel) const { return first_channel + channel < count(); }

  __device__ void load(const float* place) {
#pragma clang loop unroll(full)
    for (int c = 0; c < channels_a_thread; ++c)
      sums[c] = has(c) ? place[(first_channel + c) * arguments.ring.channel_stride] : 0.0f;
  }
  __device__ void store(float* place) const {
#pragma clang loop unroll(full)
    for (int c = 0; c < channels_a_thread; ++c)
      if (has(c)) place[(first_channel + c) * arguments.ring.channel_stride] = sums[c];
  }

  // The window's value at that place of it, for each channel. The channel after the last one is the weights.
  __device__ void add(int window, const int32_t (&at)[window_axes]) {
    const float outer = arguments.importance[0][at[0]] * arguments.importance[1][at[1]];
    const float importance = outer * arguments.importance[2][at[2]];
    const float weight = importance < arguments.least_importance ? arguments.least_importance : importance;
    const auto place = [&](int axis) {
      return mirror(arguments.launched.mirrored, axis, at[axis], arguments.extents[axis]);
    };
    const int64_t columns = arguments.extents[2], plane = columns * arguments.extents[1],
                  whole = plane * arguments.extents[0];
    const Value* const values = static_cast<const Value*>(arguments.values) +
                                (int64_t{window} * arguments.channels + first_channel) * whole + place(0) * plane +
                                place(1) * columns + place(2);
    float read[channels_a_thread];
#pragma clang loop unroll(full)
    for (int c = 0; c < channels_a_thread; ++c)
      read[c] = first_channel + c < arguments.channels ? static_cast<float>(values[c * whole]) : 1.0f;
#pragma clang loop unroll(full)
    for (int c = 0; c < channels_a_thread; ++c) {
      const float product = weight * read[c];  // rounded, as the CPU does
      sums[c] += product;
    }
  }
};

template <class Value>
__device__ inline void add_windows(const AddArguments& arguments) {
  uint32_t point;
  if (!has_point(arguments, point)) return;
  int32_t at[window_axes];
  const uint32_t chunk = arguments.box.split(point, at);
  WindowSums<Value> sums{arguments, static_cast<int32_t>(chunk) * channels_a_thread, {}};
#pragma clang loop unroll(full)
  for (int a = 0; a < window_axes; ++a) at[a] += arguments.box.first[a];
  float* const place = arguments.sums + arguments.ring.offset(at);
  bool is_covered = false;
  for (int window = 0; window < arguments.launched.count; ++window) {
    int32_t in_window[window_axes];
    bool is_inside = true;
#pragma clang loop unroll(full)
    for (int a = 0; a < window_axes; ++a) {
      in_window[a] = at[a] - arguments.launched.starts[window][a];
      is_inside &= static_cast<uint32_t>(in_window[a]) < static_cast<uint32_t>(arguments.extents[a]);
    }
    if (!is_inside) continue;
    if (!is_covered) sums.load(place);
    is_covered = true;
    sums.add(window, in_window);
  }
  if (is_covered) sums.store(place);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
