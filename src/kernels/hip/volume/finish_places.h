// Results of places whose sums are final: values, their softmax or sigmoid, or labels.
//
// Method: a thread has a place, and reads its sums channel by channel. Exponentials of a softmax stand in the results
// until their sum is known. Sums are zero afterwards, for the slices that follow.
//
// Bound by: memory, one read and one store of each sum. Only the loops of labels are unrolled, since every model has
// this kernel, which a driver compiles at the first load.
#pragma once

#include "kernels/hip/volume/places.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

struct FinishedPlace {
  const FinishArguments& arguments;
  const float* sums;
  float divisor;
  int64_t offset;  // of its first channel in the results

  __device__ float value(int32_t channel) const { return sums[channel * arguments.ring.channel_stride] / divisor; }
  __device__ float& result(int32_t channel) const {
    return static_cast<float*>(arguments.results)[offset + channel * arguments.result_channel_stride];
  }

  // A NaN is the largest value.
  __device__ int32_t label() const {
    float best = value(0);
    int32_t label = arguments.channels == 1 && best > 0 ? 1 : 0;
    for (int32_t channel = 1; channel < arguments.channels; ++channel) {
      const float next = value(channel);
      const bool is_better = next > best || (next != next && best == best);
      best = is_better ? next : best;
      label = is_better ? channel : label;
    }
    return label;
  }
  __device__ void write_label() const {
    const int32_t found = label();
    if (arguments.label_bytes == 1)
      static_cast<uint8_t*>(arguments.results)[offset] = static_cast<uint8_t>(found);
    else if (arguments.label_bytes == 2)
      static_cast<uint16_t*>(arguments.results)[offset] = static_cast<uint16_t>(found);
    else
      static_cast<int32_t*>(arguments.results)[offset] = found;
  }
  __device__ void write_values() const {
#pragma clang loop unroll(disable)
    for (int32_t channel = 0; channel < arguments.channels; ++channel) {
      const float found = value(channel);
      result(channel) = arguments.what == Finish::sigmoid ? logistic(found) : found;
    }
  }
  __device__ void write_softmax() const {
    float most = value(0), sum = 0;
#pragma clang loop unroll(disable)
    for (int32_t channel = 1; channel < arguments.channels; ++channel) {
      const float next = value(channel);
      most = next > most ? next : most;
    }
#pragma clang loop unroll(disable)
    for (int32_t channel = 0; channel < arguments.channels; ++channel) {
      const float power = exponential(value(channel) - most);
      result(channel) = power;
      sum += power;
    }
#pragma clang loop unroll(disable)
    for (int32_t channel = 0; channel < arguments.channels; ++channel) result(channel) /= sum;
  }
};

__device__ inline void finish_places(const FinishArguments& arguments) {
  uint32_t point;
  if (!has_point(arguments, point)) return;
  int32_t at[window_axes];
  arguments.box.split(point, at);
  int64_t offset = 0;
#pragma clang loop unroll(full)
  for (int a = 0; a < window_axes; ++a) {
    offset += at[a] * arguments.result_strides[a];
    at[a] += arguments.box.first[a];
  }
  float* const sums = arguments.sums + arguments.ring.offset(at);
  const float weight = sums[arguments.channels * arguments.ring.channel_stride];
  const FinishedPlace place{arguments, sums, weight * arguments.times, offset};
  if (arguments.what == Finish::labels)
    place.write_label();
  else if (arguments.what == Finish::softmax)
    place.write_softmax();
  else
    place.write_values();
  for (int32_t channel = 0; channel <= arguments.channels; ++channel) sums[channel * arguments.ring.channel_stride] = 0;
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
