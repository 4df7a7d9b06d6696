// What the compiler and the pooling kernel (pooling.h) must agree on.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

enum class PoolKind : uint8_t {
  maximum,
  average,              // of the elements inside the input
  average_with_padding  // the padding counts as zeros (ONNX count_include_pad), what is past it does not
};

// The static part of a pool; a template argument of the kernel.
struct PoolShape {
  PoolKind kind;
  Axes kernel = {1, 1, 1};
  Axes stride = {1, 1, 1};
  Axes dilation = {1, 1, 1};
};

struct PoolSizes {
  int64_t batch;
  int64_t channels;
  Axes input;
  Axes output;
  Axes begin_pads;
  Axes end_pads;  // as declared: with ceil_mode a window may reach past them
};

// A task computes a range of rows, counted over depth and height, of one channel block.
struct PoolGeometry {
  int64_t range_rows, ranges;
  KernelWork work;
};

constexpr PoolGeometry pool_geometry(const PoolSizes& sizes, int target_lanes) {
  constexpr int64_t least_task_elements = 8 * 1024, wished_tasks = 64;
  const int64_t rows = sizes.output.d * sizes.output.h;
  const int64_t planes = sizes.batch * divide_up(sizes.channels, target_lanes);
  if (rows * planes * sizes.output.w == 0) return {0, 0, {0, 0}};
  const int64_t least_rows = divide_up(least_task_elements, sizes.output.w * target_lanes);
  const int64_t range_rows = smaller(rows, larger(least_rows, divide_up(rows * planes, wished_tasks)));
  const int64_t ranges = divide_up(rows, range_rows);
  return {range_rows, ranges, {planes * ranges, 0}};
}

}  // namespace onnxc::kernels
