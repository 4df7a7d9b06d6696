// The weighted sums of one output over the slab that is in flight, and what is written of them.
//
// Method: sums for each channel, and weights, in lines that have memory while windows cover them (sum_lines.h). A
// window is added element by element. Voxels that no later window covers are finished: their values are sum / weight,
// written as the caller wants them, and the sums are zero there again.
//
// Bound by: memory, 12 bytes for each element of a window's output.
//
// On a GPU the sums lie there (gpu/device_volume.h), and results come from it in pieces.
#pragma once

#include "base/arena.h"
#include "volume/geometry.h"
#include "volume/strides.h"
#include "volume/sum_lines.h"

namespace onnxc::runtime {

class Blend {
 public:
  // `dims` are the output's of one window, [channels, axes]. `importance` is that of the output before (of the input
  // for the first), one a spatial axis.
  onnxc_status set_up(const onnxc_volume& volume, const onnxc_volume_output& output, const char* name,
                      const VolumeGeometry& geometry, const int64_t* dims, const Array<float>* const* importance,
                      int32_t slab_axis, ErrorText& error);

  // Checks the memory of the caller's, and makes that for the sums unless a GPU has them.
  onnxc_status make_room(bool is_on_device, ErrorText& error);

  // A window's output, to be added at the windows' places on each axis.
  struct Window {
    int64_t places[volume_axes];
    uint32_t mirrored;  // bit a: axis a runs backwards
    bool has_weight;    // the weights too are added, once for each window
    const float* data;
  };
  void begin(const Window& window);  // before its tasks
  int64_t add_tasks() const { return (channels_ + 1) * axes_[0].window; }
  void add(const Window& window, int64_t first_task, int64_t end_task);

  // The box that becomes final with the windows at places [first_row, end_row) of the row axis and place `slab` of the
  // slab axis.
  Box final_box(int64_t slab, int64_t first_row, int64_t end_row) const;
  // Slices that the caller takes one by one wait for their last row. Labels wait if they are small, in memory for
  // slices; values, as large as the sums, wait as sums.
  bool waits_as_sums() const { return takes_slices() && output_.what != ONNXC_VOLUME_LABELS; }
  // The slices of a box that finish is called with, at most.
  int64_t most_slices() const { return most_slices_; }
  // Writes a box, whose windows' values were added `times` times each, into the caller's memory, or into this object's
  // for hand_over.
  int64_t finish_tasks(const Box& box) const;
  void finish(const Box& box, int64_t times, int64_t first_task, int64_t end_task);
  void give_back(const Box& box) { lines_.give_back(box); }  // after these tasks
  // The slices of the box, all of whose rows are finished, if the caller takes slices.
  onnxc_status hand_over(const Box& box, ErrorText& error);

  // The part of a box that is written, which may be empty.
  Box kept(const Box& box) const;
  // Results of a box that lie side by side, as little apart as the caller's.
  struct Piece {
    Box kept;
    int64_t first_slice;  // of those that are handed over with it, along the slab axis
    VolumeStrides strides;
    int64_t bytes;
  };
  Piece piece(const Box& kept, const Box& part) const;
  // Tasks copy them to where finish would have written them.
  int64_t write_tasks(const Piece& piece) const;
  void write(const Piece& piece, const void* results, int64_t first_task, int64_t end_task);

  const OutputAxis& axis(int32_t index) const { return axes_[index]; }
  int32_t row_axis() const { return slab_axis_ == 0 ? 1 : 0; }
  int32_t what() const { return output_.what; }
  int64_t channels() const { return channels_; }
  int64_t element_bytes() const;
  // Channels of what is written: labels have one.
  int64_t written_channels() const { return output_.what == ONNXC_VOLUME_LABELS ? 1 : channels_; }
  int64_t working_bytes() const { return lines_.used_bytes() + slices_.capacity(); }
  // Elements of one channel of sums if the slab axis were this one; for choosing it.
  static int64_t sums_elements(const VolumeGeometry& geometry, int32_t slab_axis);

 private:
  // A run of elements along the last axis, all of them final.
  struct Run {
    const float* sums;  // of channel 0; the others follow
    const float* weights;
    int64_t count;
    int64_t place[volume_axes];  // of its first element in what is written
    float times;
  };
  onnxc_status check(ErrorText& error);
  bool takes_slices() const { return output_.data == nullptr; }
  void finish_row(const Box& box, int64_t i0, int64_t i1, float times);
  onnxc_status hand_over(int64_t first, int64_t end, ErrorText& error);
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

  SumLines lines_;

  void* written_ = nullptr;  // element 0 of the caller's array, or of slices_
  VolumeStrides strides_;
  int32_t written_order_[volume_axes] = {};  // the axes by their strides in what is written, the largest first
  int64_t most_slices_ = 0;
  int64_t slice_bytes_ = 0;
  Arena slices_;  // if the caller takes slices one by one
};

}  // namespace onnxc::runtime
