// The contract of the compiler and softmax.h.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// Rows of contiguous elements, each normalised on its own. The rows lie along up to five axes; leading ones may be 1.
struct SoftmaxSizes {
  static constexpr int row_axes = 5;

  int64_t extents[row_axes];
  int64_t columns;

  constexpr int64_t rows() const { return extents[0] * extents[1] * extents[2] * extents[3] * extents[4]; }
};

struct SoftmaxGeometry {
  int64_t task_rows;
  KernelWork work;
};

constexpr SoftmaxGeometry softmax_geometry(const SoftmaxSizes& sizes) {
  constexpr int64_t task_elements = 16 * 1024;  // stay in the second-level cache over the three passes
  if (sizes.rows() == 0 || sizes.columns == 0) return {1, {0, 0}};
  const int64_t task_rows = larger(1, task_elements / sizes.columns);
  return {task_rows, {divide_up(sizes.rows(), task_rows), 0}};
}

}  // namespace onnxc::kernels
