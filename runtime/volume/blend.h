// The weighted sums of one output over the slab that is in flight, and what is written of them.
//
// Method: sums[channels, axes] and weights[axes], where the slab axis has one window's extent and is a ring: slice i
// lies at place i % window. A window is added element by element; when no later window covers a slice, its values are
// sum / weight, written as the caller wants them, and the ring is zero there again.
//
// What bounds it: memory, 12 bytes for each element of a window's output.
#pragma once

#include "host/arena.h"
#include "volume/geometry.h"
#include "volume/strides.h"

namespace onnxc::runtime {

class Blend {
 public:
  // `dims` are the output's of one window, [channels, axes]. `importance` is that of the output before (of the input
  // for the first), one a spatial axis.
  onnxc_status set_up(const onnxc_volume& volume, const onnxc_volume_output& output, const char* name,
                      const VolumeGeometry& geometry, const int64_t* dims, const Array<float>* const* importance,
                      int32_t slab_axis, ErrorText& error);

  // Checks the memory of the caller's, and makes that for the sums, all zero.
  onnxc_status make_room(ErrorText& error);

  // A window's output, to be added at the windows' places on each axis.
  struct Window {
    int64_t places[volume_axes];
    uint32_t mirrored;  // bit a: axis a runs backwards
    bool has_weight;    // the weights too are added, once for each window
    const float* data;
  };
  int64_t add_tasks() const { return (channels_ + 1) * axes_[0].window; }
  void add(const Window& window, int64_t first_task, int64_t end_task);

  // The slices that become final when the windows at place `place` of the slab axis are done: [first, end).
  void final_slices(int64_t place, int64_t& first, int64_t& end) const;
  // How many of them one call of finish takes.
  int64_t most_slices() const { return most_slices_; }
  // Writes slices [first, end), whose windows' values were added `times` times each, into the caller's memory, or into
  // this object's for hand_over.
  int64_t finish_tasks(int64_t first, int64_t end) const;
  void finish(int64_t first, int64_t end, int64_t times, int64_t first_task, int64_t end_task);
  onnxc_status hand_over(int64_t first, int64_t end, ErrorText& error);

  const OutputAxis& axis(int32_t index) const { return axes_[index]; }
  int64_t channels() const { return channels_; }
  // Channels of what is written: labels have one.
  int64_t written_channels() const { return output_.what == ONNXC_VOLUME_LABELS ? 1 : channels_; }
  int64_t working_bytes() const { return sums_.capacity() + slices_.capacity(); }
  // Elements of one channel of sums if the slab axis were this one; for choosing it.
  static int64_t sums_elements(const VolumeGeometry& geometry, int32_t slab_axis);

 private:
  // A run of elements along the last axis, all of them final.
  struct Run {
    const float* sums;  // of channel 0; the others follow at channel_sums_
    const float* weights;
    int64_t count;
    int64_t place[volume_axes];  // of its first element in what is written
    float times;
  };
  onnxc_status check(ErrorText& error);
  int64_t element_bytes() const;
  int64_t sum_offset(int64_t i0, int64_t i1, int64_t i2) const;
  void finish_row(int64_t i0, int64_t i1, int64_t first2, int64_t end2, int64_t slice_base, float times);
  void write_run(const Run& run);
  template <class T>
  void write_labels(const Run& run);
  void write_values(const Run& run);
  void write_softmax(const Run& run);

  const onnxc_volume* volume_ = nullptr;
  onnxc_volume_output output_ = {};
  const char* name_ = "";
  int32_t slab_axis_ = 0;
  int64_t channels_ = 0;
  OutputAxis axes_[volume_axes];
  float least_importance_ = 0;

  int64_t extents_[volume_axes] = {};  // of the sums
  int64_t channel_sums_ = 0;           // elements of one channel
  Arena sums_;
  float* weights_ = nullptr;

  void* written_ = nullptr;  // where element 0 of the caller's array is, or of slices_
  VolumeStrides strides_;
  int64_t most_slices_ = 0;
  int64_t slice_bytes_ = 0;
  Arena slices_;  // where the caller takes slices one by one
};

}  // namespace onnxc::runtime
