// The contract of the compiler and the pooling kernels (pooling.h, separable_pool.h, planar_pool.h).
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

// Windows, so that nothing overflows and what is made of a row is not much larger than it.
constexpr int64_t largest_window = 1 << 16;

constexpr bool has_planar_pool(const PoolShape& shape) {
  return shape.kind == PoolKind::maximum && shape.stride.w <= largest_window && shape.kernel.w <= largest_window &&
         shape.dilation.w <= largest_window / shape.kernel.w;
}

// In rows (planar_pool.h) a task computes a range of rows of one channel. Its scratch: the columns that a row reads,
// with room for vectors that reach past them.
constexpr int64_t pool_columns(const PoolShape& shape, int64_t outputs) {
  return (outputs - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;
}

constexpr PoolGeometry planar_pool_geometry(const PoolShape& shape, const PoolSizes& sizes, int target_lanes) {
  PoolGeometry result = pool_geometry(sizes, 1);
  if (result.work.tasks == 0) return result;
  constexpr int64_t vectors_past_a_row = 10;  // strided_lanes.h reads up to eight
  result.work.scratch_bytes = (pool_columns(shape, sizes.output.w) + vectors_past_a_row * target_lanes) * 4;
  return result;
}

// The folds of the running windows of a row: each doubles the elements that a fold is of, or completes them.
constexpr int64_t row_folds(int64_t kernel) {
  int64_t folds = 0;
  for (int64_t taps = 1; taps < kernel; taps += smaller(taps, kernel - taps)) ++folds;
  return folds;
}

// The folds of an output if the windows are folded axis by axis (separable_pool.h): those along the rows that it has to
// itself, three of each such row, and three of each such plane. Storing a row of the input counts as one.
constexpr int64_t separable_folds(const PoolShape& shape) {
  constexpr int64_t running_folds = 3;
  const int64_t row = 1 + row_folds(shape.kernel.w);
  const int64_t rows = shape.kernel.h > 1 ? running_folds : 0, planes = shape.kernel.d > 1 ? running_folds : 0;
  return shape.stride.d * shape.stride.h * (shape.stride.w * row + rows) + planes;
}

// Whether that is faster than to fold every tap.
constexpr bool is_separable(const PoolShape& shape) {
  constexpr int64_t taps_of_a_fold = 2;  // measured: with its loads and its store it takes as long as two of pooling.h
  const Axes &kernel = shape.kernel, &stride = shape.stride;
  if (larger(kernel.d, larger(kernel.h, kernel.w)) > largest_window) return false;
  if (stride.d > kernel.d || stride.h > kernel.h || stride.w > kernel.w) return false;
  return taps_of_a_fold * separable_folds(shape) < shape.kernel.product();
}

// A task computes a tile of outputs of one channel block, or in rows of one channel. Its scratch, in vectors: the
// columns of the input that a row of the tile reads, twice; rows of outputs; what runs along height and depth.
struct SeparablePoolGeometry {
  Axes tile, tiles;
  int64_t columns, row;  // vectors of the input's and of the outputs' rows
  KernelWork work;
};

constexpr SeparablePoolGeometry separable_pool_geometry(const PoolShape& shape, const PoolSizes& sizes,
                                                        int target_lanes, bool in_rows = false) {
  constexpr int64_t widest_row = 64, wished_tasks = 16, single_rows = 5;
  if (sizes.output.product() * sizes.batch * sizes.channels == 0) return {{}, {}, 0, 0, {0, 0}};
  const int64_t planes = sizes.batch * divide_up(sizes.channels, in_rows ? 1 : target_lanes);
  const int64_t vector_bytes = target_lanes * 4, voxels_of_a_vector = in_rows ? target_lanes : 1;
  const auto evenly = [](int64_t extent, int64_t most) { return divide_up(extent, divide_up(extent, most)); };
  Axes tile = sizes.output;
  tile.w = evenly(tile.w, widest_row * voxels_of_a_vector);
  const int64_t row = divide_up(tile.w, voxels_of_a_vector);
  if (shape.kernel.d > 1) {  // the running planes stay in a part of the second-level cache
    const int64_t most = second_level_cache / 2 / ((shape.kernel.d + 1) * row * vector_bytes);
    tile.h = evenly(tile.h, larger(most, 4));
  }
  // Elements that tiles share are read twice: none is cut below two kernels.
  const auto tiles_of = [&] {
    return Axes{divide_up(sizes.output.d, tile.d), divide_up(sizes.output.h, tile.h),
                divide_up(sizes.output.w, tile.w)};
  };
  const auto halve = [&](int64_t& extent, int64_t window) {
    while (planes * tiles_of().product() < wished_tasks && extent >= 4 * window) extent = divide_up(extent, 2);
  };
  halve(tile.d, shape.kernel.d * shape.dilation.d);
  halve(tile.h, shape.kernel.h * shape.dilation.h);
  // In rows a vector beyond, which is read and not used.
  const int64_t columns = divide_up(pool_columns(shape, tile.w), voxels_of_a_vector) + (in_rows ? 1 : 0);
  const int64_t running_rows = (shape.kernel.h + 1) + (shape.kernel.d + 1) * tile.h;
  const int64_t vectors = 2 * columns + (single_rows + running_rows) * row;
  return {tile, tiles_of(), columns, row, {planes * tiles_of().product(), vectors * vector_bytes}};
}

}  // namespace onnxc::kernels
