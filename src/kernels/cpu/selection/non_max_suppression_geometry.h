// The contract of the compiler and non_max_suppression.h.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

struct SuppressionSizes {
  int64_t images, classes, boxes;
};

struct SuppressionGeometry {
  static constexpr int64_t columns = 5;  // of a chosen box: both corners and the area

  int64_t column_elements;
  KernelWork work;
};

constexpr SuppressionGeometry suppression_geometry(const SuppressionSizes& sizes, int64_t vector_lanes) {
  const int64_t column = round_up(sizes.boxes, vector_lanes);
  return {column, {sizes.images * sizes.classes, SuppressionGeometry::columns * column * int64_t{sizeof(float)}}};
}

}  // namespace onnxc::kernels
