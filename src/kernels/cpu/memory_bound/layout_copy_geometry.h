// The contract of the compiler, layout_copy.h and channel_shift.h.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

struct LayoutCopySizes {
  int64_t batch;
  int64_t channels;
  Axes size;
};

struct LayoutCopyGeometry {
  int64_t task_voxels;
  int64_t pieces;  // of an image
  KernelWork work;
};

// A task copies one block of channels of a range of voxels, in row-major order.
constexpr LayoutCopyGeometry layout_copy_geometry(const LayoutCopySizes& sizes, int target_lanes) {
  constexpr int64_t task_bytes = 128 * 1024;
  const int64_t task_voxels = task_bytes / static_cast<int64_t>(sizeof(float)) / target_lanes;
  const int64_t pieces = divide_up(sizes.size.product(), task_voxels);
  return {task_voxels, pieces, {sizes.batch * divide_up(sizes.channels, target_lanes) * pieces, 0}};
}

// Calls visit(batch, block, first voxel, past the last) for tasks [task_begin, task_end).
template <class Visitor>
void for_each_piece(const LayoutCopySizes& sizes, int target_lanes, int64_t task_begin, int64_t task_end,
                    const Visitor& visit) {
  const LayoutCopyGeometry geometry = layout_copy_geometry(sizes, target_lanes);
  const int64_t blocks = divide_up(sizes.channels, target_lanes);
  for (int64_t task = task_begin; task < task_end; ++task) {
    const int64_t plane = task / geometry.pieces, begin = task % geometry.pieces * geometry.task_voxels;
    visit(plane / blocks, plane % blocks, begin, smaller(begin + geometry.task_voxels, sizes.size.product()));
  }
}

// The size with rows merged into one if they are contiguous on both sides; a voxel has as many elements as its side has
// lanes.
constexpr Axes joined_rows(const Axes& size, const BlockedView& input, int64_t input_lanes, const BlockedView& output,
                           int64_t output_lanes) {
  const auto follow = [](int64_t extent, int64_t in, int64_t out, int64_t in_length, int64_t out_length) {
    return extent == 1 || (in == in_length && out == out_length);
  };
  if (!follow(size.h, input.h_stride, output.h_stride, size.w * input_lanes, size.w * output_lanes)) return size;
  const int64_t plane = size.h * size.w;
  if (!follow(size.d, input.d_stride, output.d_stride, plane * input_lanes, plane * output_lanes))
    return {size.d, 1, plane};
  return {1, 1, size.d * plane};
}

}  // namespace onnxc::kernels
