// What the compiler, the weight packer and conv_winograd.h must agree on: which convolutions have a Winograd form, the
// order of the transformed weights, and how the work is cut into tasks.
//
// F(2, 3) computes two neighbouring outputs of a three-tap filter from four inputs d by four products instead of six:
// y = A (G g * B d), with B = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1], G = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1],
// A = [1 1 1 0; 0 1 -1 -1] (Winograd 1980; Lavin and Gray 2016). It nests over axes: F(2,2,2) makes 8 outputs of a
// 3x3x3 kernel from 4x4x4 inputs by 64 products instead of 216. The products of one of the 64 points, over all tiles
// and channels, are a matrix product.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"

namespace onnxc::kernels {

// Along each axis the kernel has three taps and is transformed, or one and is passed through.
constexpr bool winograd_supports(const ConvShape& shape) {
  const Axes& kernel = shape.kernel;
  const bool has_taps = (kernel.d == 1 || kernel.d == 3) && (kernel.h == 1 || kernel.h == 3) &&
                        (kernel.w == 1 || kernel.w == 3) && kernel.product() > 1;
  return has_taps && shape.groups == 1 && shape.stride == Axes{1, 1, 1} && shape.dilation == Axes{1, 1, 1};
}

// The axes as the kernel walks them: outer, row, column. Column is the width. Row is the height, unless only the depth
// is transformed of the two: then they swap, so that the outer axis is transformed only when both others may be.
struct WinogradForm {
  bool swaps_depth_and_height;
  bool outer, row, column;  // which are transformed

  // Points over outer and row, and over column: the kernel does all of the latter for one of the former at a time.
  constexpr int64_t line_points() const { return (outer ? 4 : 1) * (row ? 4 : 1); }
  constexpr int64_t column_points() const { return column ? 4 : 1; }
  // What a tile computes.
  constexpr Axes outputs() const { return {outer ? 2 : 1, row ? 2 : 1, column ? 2 : 1}; }
  // The triple with .d, .h, .w as outer, row, column; its own inverse.
  constexpr Axes ordered(const Axes& axes) const {
    return swaps_depth_and_height ? Axes{axes.h, axes.d, axes.w} : axes;
  }
  // Tiles along each axis, in the kernel's order, that cover an output.
  constexpr Axes tiles(const Axes& output) const {
    const Axes size = ordered(output), tile = outputs();
    return {divide_up(size.d, tile.d), divide_up(size.h, tile.h), divide_up(size.w, tile.w)};
  }
};

constexpr WinogradForm winograd_form(const Axes& kernel) {
  const bool swaps = kernel.d == 3 && kernel.h == 1;
  return {swaps, kernel.d == 3 && kernel.h == 3, kernel.d == 3 || kernel.h == 3, kernel.w == 3};
}

// Transformed weights: [line point: outer, row][chunk of two output blocks][column point][input channel][output block
// in chunk][lane]. The last chunk of an odd number of blocks has one. Input channels are rounded up to
// `reduction_step`, what is padded is zero.
struct WinogradPacking {
  ConvShape shape;
  int lanes;

  static constexpr int64_t reduction_step = 4;

  constexpr WinogradForm form() const { return winograd_form(shape.kernel); }
  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, lanes); }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), 2); }
  constexpr int64_t chunk_blocks(int64_t chunk) const { return smaller(2, output_blocks() - 2 * chunk); }
  constexpr int64_t depth() const { return round_up(shape.input_channels, reduction_step); }

  // Elements of a point's weights for one output block.
  constexpr int64_t block_size() const { return depth() * lanes; }
  constexpr int64_t chunk_offset(int64_t line_point, int64_t chunk) const {
    return (line_point * output_blocks() + 2 * chunk) * form().column_points() * block_size();
  }
  constexpr int64_t size() const { return chunk_offset(form().line_points(), 0); }

  // Where the weight of two channels at a point stands.
  constexpr int64_t offset(int64_t line_point, int64_t column_point, int64_t output_channel,
                           int64_t input_channel) const {
    const int64_t block = output_channel / lanes;
    const int64_t blocks = chunk_blocks(block / 2);
    return chunk_offset(line_point, block / 2) + column_point * blocks * block_size() +
           (input_channel * blocks + block % 2) * lanes + output_channel % lanes;
  }
};

// Tiles of a register tile of the matrix product: as many as leave registers for the weights and the broadcast. What is
// left over at the end of a task goes to the lower one when it fits.
constexpr int64_t winograd_rows(int lanes) { return lanes == 16 ? 12 : 6; }
constexpr int64_t winograd_short_rows(int lanes) { return lanes == 16 ? 8 : 4; }

// Tiles, rounded up to the register tiles that compute them.
constexpr int64_t winograd_padded_tiles(int64_t tiles, int lanes) {
  const int64_t rest = tiles % winograd_rows(lanes), full = tiles - rest;
  if (rest == 0) return full;
  return full + (rest <= winograd_short_rows(lanes) ? winograd_short_rows(lanes) : winograd_rows(lanes));
}

// A task computes some chunks of output channels for a range of tiles of one image, tiles in row-major order. Its
// scratch holds, for one line point, the transformed input of all channels [column point][input block][tile][lane] and
// the products of one chunk [column point][tile][block][lane], and the outputs so far [output of a tile][chunk][tile]
// [block][lane]. Strides are a line longer than they need to be, so that points do not meet in one set of the
// first-level cache.
struct WinogradGeometry {
  Axes tiles;            // of an image, in the kernel's order
  int64_t range_tiles;   // of a task; the last range may be shorter
  int64_t ranges;        // of an image
  int64_t task_chunks;   // the last task of a range may have fewer
  int64_t splits;        // tasks that share a range
  bool prefetches;       // the input of the next range: where a range is small and little else wants the cache
  int64_t passes;        // how often the weights of an image come from memory: once where they stay in the cache
  int64_t block_stride;  // of an input block in scratch; this and all below in elements
  int64_t input_stride, product_stride, output_stride;  // of a column point or of an output of a tile
  int64_t product_offset, output_offset;                // in scratch
  KernelWork work;
};

constexpr WinogradGeometry winograd_geometry(const WinogradPacking& packing, const ConvSizes& sizes) {
  // When the weights stay in the second-level cache all else is kept in the first; when they are streamed past it, the
  // second is for the rest, so that they are read for as many tiles as possible.
  constexpr int64_t resident_weights = 1280 * 1024, first_level = 40 * 1024, second_level = 1024 * 1024;
  constexpr int64_t most_groups = 12, most_chunks = 4, wished_tasks = 8;
  constexpr int64_t element = static_cast<int64_t>(sizeof(float)), line = 64 / element;
  const WinogradForm form = packing.form();
  const int64_t rows = winograd_rows(packing.lanes);
  const bool is_resident = packing.size() * element <= resident_weights;
  WinogradGeometry result{};
  result.tiles = form.tiles(sizes.output);
  const int64_t tiles = result.tiles.product();
  const int64_t channels = packing.input_blocks() * packing.lanes;
  const int64_t most_task_chunks = is_resident ? packing.chunks() : smaller(packing.chunks(), most_chunks);
  const int64_t tile_elements = form.column_points() * (channels + 2 * packing.lanes) +
                                form.outputs().product() * most_task_chunks * 2 * packing.lanes;
  const int64_t budget = (is_resident ? first_level : second_level) / element;
  const int64_t groups = larger(1, smaller(budget / (tile_elements * rows), most_groups));
  result.ranges = divide_up(tiles, groups * rows);
  result.range_tiles = result.ranges == 0 ? 0 : round_up(divide_up(tiles, result.ranges), rows);
  result.ranges = result.ranges == 0 ? 0 : divide_up(tiles, result.range_tiles);
  result.passes = is_resident ? 1 : result.ranges;
  // Few ranges are split by output channels, which repeats the transform of the input: no finer than two chunks.
  const int64_t wished_splits = divide_up(wished_tasks, larger(1, sizes.batch * result.ranges));
  result.task_chunks =
      larger(smaller(most_task_chunks, divide_up(packing.chunks(), wished_splits)), smaller(2, packing.chunks()));
  result.splits = divide_up(packing.chunks(), result.task_chunks);

  result.prefetches = is_resident && result.splits == 1;

  const int64_t padded = winograd_padded_tiles(smaller(result.range_tiles, tiles), packing.lanes);
  result.block_stride = padded * packing.lanes + line;
  result.input_stride = packing.input_blocks() * result.block_stride + line;
  result.product_stride = padded * 2 * packing.lanes + line;
  result.output_stride = padded * 2 * packing.lanes * result.task_chunks + line;
  result.product_offset = form.column_points() * result.input_stride;
  result.output_offset = result.product_offset + form.column_points() * result.product_stride;
  const int64_t elements = result.output_offset + form.outputs().product() * result.output_stride;
  result.work = {sizes.batch * result.ranges * result.splits, elements * element};
  return result;
}

}  // namespace onnxc::kernels
