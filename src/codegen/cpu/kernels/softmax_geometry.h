// What the compiler and softmax.h must agree on.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"

namespace onnxc::kernels {

// A dense row-major matrix; each row is normalized for itself.
struct SoftmaxSizes {
  int64_t rows;
  int64_t columns;
};

struct SoftmaxGeometry {
  int64_t task_rows;
  KernelWork work;
};

constexpr SoftmaxGeometry softmax_geometry(const SoftmaxSizes& sizes) {
  constexpr int64_t task_elements = 16 * 1024;  // stay in the second-level cache over the three passes
  if (sizes.rows == 0 || sizes.columns == 0) return {1, {0, 0}};
  const int64_t task_rows = larger(1, task_elements / sizes.columns);
  return {task_rows, {divide_up(sizes.rows, task_rows), 0}};
}

}  // namespace onnxc::kernels
