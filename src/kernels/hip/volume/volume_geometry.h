// The contract of the runtime and the kernels that cut windows out of a volume and blend what a model makes of them.
#pragma once

#include <stdint.h>

#include "kernels/hip/wave/divisor.h"
#include "kernels/hip/wave/launch.h"

namespace onnxc::kernels {

// The spatial axes of a volume; those that it lacks stand in front, with one place.
inline constexpr int window_axes = 3;
// More windows of a run take further launches.
inline constexpr int windows_a_launch = 32;
// Channels that a thread adds: they share a place's weight, and their loads are under way together.
inline constexpr int channels_a_thread = 4;

// The last slices of a volume along its slab axis: slice i lies at place i % places. Positions along an axis have 28
// bits.
struct SliceRing {
  int32_t slab_axis;
  Divisor places;
  int64_t channel_stride;
  int64_t strides[window_axes];

  constexpr int64_t offset(const int32_t (&at)[window_axes]) const {
    int64_t result = 0;
    for (int a = 0; a < window_axes; ++a) {
      const auto position = static_cast<uint32_t>(at[a]);
      result += (a == slab_axis ? places.remainder(position) : position) * strides[a];
    }
    return result;
  }
};

// A box that points are counted in, the last axis fastest.
struct PointBox {
  int32_t first[window_axes];
  Divisor extents[window_axes];

  constexpr int64_t points() const { return int64_t{extents[0].divisor} * extents[1].divisor * extents[2].divisor; }
  // The place with a number, from the first of the box; returns the number of the box.
  constexpr uint32_t split(uint32_t number, int32_t (&at)[window_axes]) const {
    for (int a = window_axes - 1; a >= 0; --a) {
      const uint32_t rest = extents[a].quotient(number);
      at[a] = static_cast<int32_t>(number - rest * extents[a].divisor);
      number = rest;
    }
    return number;
  }
};

// Points of a launch, each of a thread of its own, are counted in 31 bits.
inline constexpr int64_t most_points = int64_t{1} << 30;

// Some windows of a run, by their starts.
struct LaunchedWindows {
  int32_t count;
  uint32_t mirrored;  // bit a: axis a runs backwards
  int32_t starts[windows_a_launch][window_axes];
};

// A point is an element of the windows, [window, channel, axes].
struct CutArguments {
  int64_t points;
  const float* slices;
  void* windows;
  Divisor channels;
  PointBox window;
  SliceRing ring;
  LaunchedWindows launched;
};

// A point is a place of the box around the windows, for channels_a_thread channels: [channels, axes].
struct AddArguments {
  int64_t points;
  const void* values;  // [window, channel, axes]
  float* sums;         // of the channels, then of the weights
  const float* importance[window_axes];
  float least_importance;
  int32_t adds_weights;
  int32_t channels, extents[window_axes];  // of a window
  PointBox box;
  SliceRing ring;
  LaunchedWindows launched;
};

enum class Finish : int32_t { values, softmax, sigmoid, labels };

// A point is a place of a box whose sums are final. Results are float, or labels of `label_bytes`.
struct FinishArguments {
  int64_t points;
  float* sums;  // of the channels, then of the weights; zero afterwards
  void* results;
  int32_t channels;
  float times;  // that each window's values were added
  Finish what;
  int32_t label_bytes;
  PointBox box;
  int64_t result_channel_stride, result_strides[window_axes];  // from the first place of the box
  SliceRing ring;
};

}  // namespace onnxc::kernels
