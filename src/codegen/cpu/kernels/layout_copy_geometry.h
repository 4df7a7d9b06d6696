// What the compiler and layout_copy.h must agree on.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"

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

}  // namespace onnxc::kernels
