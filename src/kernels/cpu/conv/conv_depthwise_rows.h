// The shared parts of the depthwise kernels of floats and of bytes: tasks are rows of outputs, a row is tiles of
// neighbouring outputs, and the sums of a tile go through the epilogue.
#pragma once

#include "kernels/cpu/conv/conv_depthwise_geometry.h"
#include "kernels/cpu/vector/integers.h"
#include "kernels/cpu/vector/light_epilogue.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime.
DepthwiseGeometry depthwise_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes);

// Calls visit(batch, block, d, h) for each row of outputs of tasks [task_begin, task_end).
template <ConvShape shape, class Visit>
void for_each_depthwise_row(const ConvSizes& sizes, int64_t task_begin, int64_t task_end, const Visit& visit) {
  constexpr int64_t blocks = divide_up(shape.output_channels, lanes);
  const DepthwiseGeometry geometry = depthwise_geometry_at_run_time(shape, sizes);
  for (int64_t task = task_begin; task < task_end; ++task) {
    const int64_t band = task % geometry.bands;
    const int64_t range = task / geometry.bands % geometry.ranges;
    const int64_t block = task / geometry.bands / geometry.ranges % blocks;
    const int64_t batch = task / geometry.bands / geometry.ranges / blocks;
    const int64_t d_end = smaller((range + 1) * geometry.range_planes, sizes.output.d);
    const int64_t h_end = smaller((band + 1) * geometry.band_rows, sizes.output.h);
    for (int64_t d = range * geometry.range_planes; d < d_end; ++d)
      for (int64_t h = band * geometry.band_rows; h < h_end; ++h) visit(batch, block, d, h);
  }
}

// Cuts a row of outputs into tiles: run_tile<vectors, voxels>(column) computes so many vectors of so many outputs, or
// fewer, and returns how many outputs. Tens are taken until eights are left, so that few rows end in small tiles.
template <bool has_ten, int voxels, class RunTile>
[[gnu::always_inline]] inline void for_each_depthwise_tile(int64_t width, const RunTile& run_tile) {
  for (int64_t column = 0; column < width;) {
    const int64_t left = (width - column) / voxels;
    if (has_ten && left >= 10 && left % 8 != 0)
      column += run_tile.template operator()<has_ten ? 10 : 8, voxels>(column);
    else if (left >= 8)
      column += run_tile.template operator()<8, voxels>(column);
    else if (left >= 5)
      column += run_tile.template operator()<5, voxels>(column);
    else if (left >= 2)
      column += run_tile.template operator()<2, voxels>(column);
    else if (left == 1)
      column += run_tile.template operator()<1, voxels>(column);
    else
      column += run_tile.template operator()<1, 1>(column);
  }
}

// Stores a tile's sums, of floats or integers, through the epilogue; the channels that pad the last block are zero.
template <ConvShape shape, int outputs, class Arguments, class Epilogue, class Vector>
[[gnu::always_inline]] inline void finish_depthwise_tile(const Arguments& arguments, const Epilogue& epilogue,
                                                         const Position& first, const Vector (&sums)[outputs]) {
  // The place is computed once: after a store its strides would be loaded anew.
  const BlockedView& view = arguments.output_view;
  const int64_t offset = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                         first.d * view.d_stride + first.h * view.h_stride + first.w * lanes;
  auto* const row = arguments.output + offset;
  const auto finished = [&](Vector sum, int64_t i) __attribute__((always_inline)) {
    Position position = first;
    position.w += i;
    position.offset = offset + i * lanes;
    const auto value = epilogue(sum, position);
    if constexpr (shape.output_channels % lanes != 0)
      return keep_lanes(first_lanes(shape.output_channels - first.channel_block * lanes), value);
    else
      return value;
  };
  if constexpr (is_light_epilogue<Epilogue>) {
    // All outputs are stored only once the epilogue has had them, since what it reads would be loaded anew after
    // each store.
    decltype(finished(sums[0], 0)) values[outputs];
#pragma clang loop unroll(full)
    for (int i = 0; i < outputs; ++i) values[i] = finished(sums[i], i);
#pragma clang loop unroll(full)
    for (int i = 0; i < outputs; ++i) store(row + i * lanes, values[i]);
  } else {
    Vector stored[outputs];
    for (int i = 0; i < outputs; ++i) stored[i] = sums[i];
    asm("" : "+m"(stored));  // the sums leave their registers here, so that the epilogue has them all
#pragma clang loop unroll(disable)
    for (int i = 0; i < outputs; ++i) store(row + i * lanes, finished(stored[i], i));
  }
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
