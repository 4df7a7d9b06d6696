// Reads windows out of a scan: converts its elements to float32, scales them, pads, and mirrors.
//
// Bound by: memory. A window's rows are contiguous in a row-major scan; in one of another order (NIfTI has the first
// axis innermost) the loops keep the lines of the cache that a row touches until the next rows have used them.
#pragma once

#include <atomic>

#include "base/arena.h"
#include "volume/geometry.h"
#include "volume/strides.h"

namespace onnxc::runtime {

class WindowReader {
 public:
  // `slab_axis` is that whose slices input.read gives, if it gives slices.
  onnxc_status set_up(const onnxc_volume& volume, const onnxc_volume_input& input, const char* name,
                      const VolumeGeometry& geometry, int32_t slab_axis, ErrorText& error);

  // Before windows that end at padded position `end` of the slab axis: reads the slices up to there, where slices are
  // read one by one.
  onnxc_status provide(int64_t end, ErrorText& error);

  // The elements of a box, such as a window. Rows are tasks, so that threads may share its work.
  struct Window {
    int64_t starts[volume_axes];  // padded positions
    int64_t extents[volume_axes];
    VolumeStrides strides;  // of the elements at data
    // Places below these were in an earlier window, on each axis; null: no NaN is counted.
    const int64_t* fresh;
    uint32_t mirrored;  // bit a: axis a runs backwards
    float* data;
  };
  int64_t row_tasks(const Window& window) const { return channels_ * window.extents[1]; }
  void read_rows(const Window& window, int64_t first_task, int64_t end_task);

  int64_t channels() const { return channels_; }
  int64_t working_bytes() const { return slices_.capacity(); }
  int64_t nan_count() const { return nan_count_.load(std::memory_order_relaxed); }

 private:
  template <class T>
  void read_typed(const Window& window, int64_t task);
  onnxc_status check(const onnxc_volume& volume, const char* name, ErrorText& error);

  const VolumeGeometry* geometry_ = nullptr;
  onnxc_volume_input input_ = {};
  const char* name_ = "";
  const void* data_ = nullptr;
  int64_t channels_ = 0;
  int64_t channel_stride_ = 0;
  Array<int64_t> offsets_[volume_axes];  // of each padded position, in elements
  float padding_value_ = 0;
  std::atomic<int64_t> nan_count_ = 0;

  // If slices are read one by one: the last ones, slice i at place i % slice_places_.
  Arena slices_;
  int32_t slab_axis_ = 0;
  int64_t slice_places_ = 0, slice_bytes_ = 0, next_slice_ = 0;
};

}  // namespace onnxc::runtime
