#include "volume/sum_lines.h"

#include <algorithm>

namespace onnxc::runtime {
namespace {

constexpr int64_t slices_of_last_axis = 16;  // a line of the cache

}  // namespace

bool SumLines::set_up(int64_t channels, const OutputAxis (&axes)[volume_axes], int32_t slab_axis) {
  slab_axis_ = slab_axis;
  row_axis_ = slab_axis == 0 ? 1 : 0;
  const int32_t line_axis = slab_axis == 2 ? 1 : 2;
  slices_ = slab_axis == 2 ? slices_of_last_axis : 1;
  slab_size_ = axes[slab_axis].padded;
  // A window may begin and end within lines.
  blocks_ = (axes[slab_axis].window + slices_ - 2) / slices_ + 1;
  rows_ = axes[row_axis_].padded;
  int64_t lines, bytes;
  return !__builtin_mul_overflow(axes[line_axis].padded, slices_, &line_floats_) &&
         !__builtin_mul_overflow(line_floats_, channels * group, &group_floats_) &&
         !__builtin_mul_overflow(blocks_, rows_, &lines) &&
         !__builtin_mul_overflow((lines + group - 1) / group, group_floats_, &bytes) &&
         !__builtin_mul_overflow(bytes, int64_t{sizeof(float)}, &bytes) && slots_.allocate(lines) &&
         ended_.allocate(lines) && memory_.reserve(bytes);
}

void SumLines::begin(const Box& window) {
  const int64_t last_block = (window.end[slab_axis_] - 1) / slices_;
  for (int64_t block = window.first[slab_axis_] / slices_; block <= last_block; ++block)
    for (int64_t row = window.first[row_axis_]; row < window.end[row_axis_]; ++row) {
      int64_t& slot = slots_[table_index(block, row)];
      if (slot != 0) continue;
      if (ended_count_ > 0) {
        slot = ended_[first_ended_];
        first_ended_ = (first_ended_ + 1) % ended_.size();
        --ended_count_;
      } else {
        slot = ++used_slots_;
      }
    }
}

void SumLines::give_back(const Box& finished) {
  const int64_t end = finished.end[slab_axis_];
  for (int64_t block = finished.first[slab_axis_] / slices_; block * slices_ < end; ++block) {
    if (std::min((block + 1) * slices_, slab_size_) > end) continue;
    for (int64_t row = finished.first[row_axis_]; row < finished.end[row_axis_]; ++row) {
      int64_t& slot = slots_[table_index(block, row)];
      ended_[(first_ended_ + ended_count_++) % ended_.size()] = slot;
      slot = 0;
    }
  }
}

}  // namespace onnxc::runtime
