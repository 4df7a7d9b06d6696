// Memory for the sums of one output that are in flight.
//
// Windows go along the slab axis, and within a slab along the row axis, the first of the other two. A line is what
// belongs to one place of both, over the third axis. A line has memory from the first window that covers it until its
// sums are written, so that of neighbouring slabs one ends as fast as the next one begins. For an overlap of a half and
// long rows, little more than half a window's extent of slices. If the slab axis is the last one, a line has 16 slices
// of it, so that runs along the last axis are not single elements.
//
// Method: one range of addresses that has room for a window's extent of slices; lines that ended are used again before
// new pages are touched. Memory is zero if it was never used, and a line is zero when it is given back. Lines lie in
// groups, [channels and the weights, lines of a group, line], so that neighbouring lines of a channel share pages.
#pragma once

#include "base/arena.h"
#include "volume/geometry.h"

namespace onnxc::runtime {

// Places [first, end) on each axis.
struct Box {
  int64_t first[volume_axes], end[volume_axes];
};

class SumLines {
 public:
  // Once. `channels` counts the weights too. False when memory is short or the bytes fit in no number.
  [[nodiscard]] bool set_up(int64_t channels, const OutputAxis (&axes)[volume_axes], int32_t slab_axis);

  // Memory for the lines of a window. Not while threads are at work on sums, as give_back.
  void begin(const Box& window);
  // Gives back lines that no further window covers; those that have a slice still open stay.
  void give_back(const Box& finished);

  // The sum of channel 0 there; those of the others follow channel_stride() apart.
  float* at(int64_t i0, int64_t i1, int64_t i2) const {
    const int64_t places[] = {i0, i1, i2};
    const int64_t slot = slots_.data()[table_index(places[slab_axis_] / slices_, places[row_axis_])] - 1;
    const int64_t place = slab_axis_ == 2 ? i1 * slices_ + i2 % slices_ : i2;
    return reinterpret_cast<float*>(memory_.data()) + slot / group * group_floats_ + slot % group * line_floats_ +
           place;
  }
  int64_t channel_stride() const { return group * line_floats_; }
  // How many elements from place i2 of the last axis on follow each other.
  int64_t run_length(int64_t i2) const { return slab_axis_ == 2 ? slices_ - i2 % slices_ : line_floats_ - i2; }

  int32_t row_axis() const { return row_axis_; }
  // Bytes of the lines that had memory at the same time.
  int64_t used_bytes() const {
    return (used_slots_ + group - 1) / group * group_floats_ * static_cast<int64_t>(sizeof(float));
  }

 private:
  static constexpr int64_t group = 64;  // lines

  int64_t table_index(int64_t block, int64_t row) const { return block % blocks_ * rows_ + row; }

  int32_t slab_axis_ = 0, row_axis_ = 1;
  int64_t slices_ = 1;  // of a line
  int64_t slab_size_ = 0;
  int64_t blocks_ = 0, rows_ = 0;  // lines along the slab axis that may be in flight at once, and along the row axis
  int64_t line_floats_ = 0;        // of one channel
  int64_t group_floats_ = 0;       // of all
  Array<int64_t> slots_;           // of each line, counted from 1; 0: it has no memory
  Array<int64_t> ended_;           // slots to be used again, a queue
  int64_t first_ended_ = 0, ended_count_ = 0, used_slots_ = 0;
  Arena memory_;
};

}  // namespace onnxc::runtime
