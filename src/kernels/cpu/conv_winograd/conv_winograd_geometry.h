// The contract of the compiler, the weight packer and conv_winograd.h: the convolutions that have a Winograd form, the
// order of the transformed weights, and how the work is cut into tasks.
//
// F(2, 3) and F(4, 3) of conv_winograd_points.h nest over axes. F(2,2,2) computes 8 outputs of a 3x3x3 kernel from
// 4x4x4 inputs by 64 products instead of 216, F(2,2,4) 16 outputs by 96 instead of 432, F(2,4,4) 32 by 144 instead of
// 864. With strides of two F(2,2,2) computes 8 outputs from 5x5x5 inputs by 125 products, F(1,2,2) 4 by 75 instead of
// 108. F(2, 5) computes 4 outputs of a 5x5x5 kernel from 5x6x6 inputs by 180 products instead of 500; the depth's taps
// are summed directly. The products of one point, over all tiles and channels, are a matrix product.
//
// With dilations d the voxels split into lattices: residue classes modulo d along each axis. The outputs of a lattice
// read inputs of only one lattice, so the convolution is d_d * d_h * d_w convolutions of dilation 1 (WinogradLattice).
#pragma once

#include "kernels/cpu/conv_winograd/conv_winograd_points.h"
#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// The kernel's order of axes: outer, row, column. Column is the width. Row is the height, unless the depth is
// transformed and the height is not: then these two swap, so that outer is transformed only when both others may be.
struct WinogradForm {
  bool swaps_depth_and_height;
  WinogradAxis outer, row, column;

  // The triple with .d, .h, .w as outer, row, column; the function is its own inverse.
  constexpr Axes ordered(const Axes& axes) const {
    return swaps_depth_and_height ? Axes{axes.h, axes.d, axes.w} : axes;
  }
  // A tile's outputs and step; this and what follows is in the kernel's order.
  constexpr Axes outputs() const { return {outer.outputs, row.outputs, column.outputs}; }
  constexpr Axes step() const { return {outer.step(), row.step(), column.step()}; }
  constexpr Axes dilation() const { return {outer.dilation, row.dilation, column.dilation}; }
  constexpr bool is_dilated() const { return dilation() != Axes{1, 1, 1}; }
  constexpr int64_t points() const { return outer.points() * row.points() * column.points(); }
  constexpr int axes_of_six_points() const {
    return outer.has_six_points() + row.has_six_points() + column.has_six_points();
  }
  // Lattices along each axis that have an output.
  constexpr Axes lattices(const Axes& output) const {
    const Axes size = ordered(output), apart = dilation();
    return {smaller(size.d, apart.d), smaller(size.h, apart.h), smaller(size.w, apart.w)};
  }
  // The tiles along each axis that cover an output; with dilations those of the largest lattice.
  constexpr Axes tiles(const Axes& output) const {
    const Axes size = ordered(output), tile = outputs(), apart = dilation();
    return {divide_up(size.d, tile.d * apart.d), divide_up(size.h, tile.h * apart.h),
            divide_up(size.w, tile.w * apart.w)};
  }
};

// `tile`: outputs along each axis.
constexpr WinogradForm winograd_form(const ConvShape& shape, const Axes& tile) {
  const auto axis = [](int64_t taps, int64_t stride, int64_t outputs, int64_t dilation) {
    return WinogradAxis{taps, stride, outputs, taps == 1 ? 1 : dilation};
  };
  const WinogradAxis d = axis(shape.kernel.d, shape.stride.d, tile.d, shape.dilation.d),
                     h = axis(shape.kernel.h, shape.stride.h, tile.h, shape.dilation.h),
                     w = axis(shape.kernel.w, shape.stride.w, tile.w, shape.dilation.w);
  const bool swaps = d.taps > 1 && h.taps == 1;
  return {swaps, swaps ? h : d, swaps ? d : h, w};
}

// Whether a convolution has the form. Each axis needs three or five taps, or is not transformed. Two axes may have a
// tile of 4: each doubles the error, and chains of half the length make up for it. If depth and height both have three
// taps the depth may not have a tile of 4. The depth's five taps are summed directly: F(2,2,2) of 5x5x5 would have 1.7
// times fewer products, but twice the error.
constexpr bool winograd_supports(const ConvShape& shape, const Axes& tile) {
  const WinogradForm form = winograd_form(shape, tile);
  const Axes outputs = form.outputs();
  const int fours = (outputs.d == 4) + (outputs.h == 4) + (outputs.w == 4);
  const bool has_plain_fives = (form.row.taps == 5 && outputs.h == 1) || (form.column.taps == 5 && outputs.w == 1);
  const bool has_outer_fives = form.outer.taps == 5 && outputs.d > 1;
  return form.outer.is_supported() && form.row.is_supported() && form.column.is_supported() && tile.product() > 1 &&
         fours <= 2 && outputs.d != 4 && !has_plain_fives && !has_outer_fives && shape.groups == 1;
}

// Transformed weights: [outer point][group of row points][chunk of two output blocks][row point of the group][column
// point][input channel][output block in chunk][lane]. The last chunk of an odd number of blocks has one. Input channels
// are rounded up to `reduction_step`; padding is zero.
struct WinogradPacking {
  ConvShape shape;
  Axes tile;  // outputs along each axis (winograd_supports)
  int lanes;

  static constexpr int64_t reduction_step = 4;
  // The channels of one chain; the chains' sums are added, with half the error of a single chain of 256. Six points
  // along two axes raise the error: half as many channels, and half of that if a third axis is transformed.
  constexpr int64_t chain() const {
    if (form().axes_of_six_points() < 2) return 64;
    return form().outer.outputs == 1 ? 32 : 16;
  }
  // Limits on the transformed input of a tile, for all row points at once and for groups of them.
  static constexpr int64_t most_tile_bytes = 14 * 1024, most_group_bytes = 7 * 1024;

  constexpr WinogradForm form() const { return winograd_form(shape, tile); }
  constexpr bool has_two_fours() const { return (tile.d == 4) + (tile.h == 4) + (tile.w == 4) == 2; }

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, lanes); }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), 2); }
  constexpr int64_t chunk_blocks(int64_t chunk) const { return smaller(2, output_blocks() - 2 * chunk); }
  constexpr int64_t depth() const { return round_up(shape.input_channels, reduction_step); }

  // Row points that the kernel computes at once, with all column points: all of them, or so few that the tiles of a
  // small map fit the second-level cache together. The last group may have fewer.
  constexpr int64_t group_rows() const {
    const int64_t rows = form().row.points();
    const int64_t row_bytes = form().column.points() * depth() * static_cast<int64_t>(sizeof(float));
    if (rows * row_bytes <= most_tile_bytes) return rows;
    return divide_up(rows, divide_up(rows, larger(1, most_group_bytes / row_bytes)));
  }
  constexpr int64_t row_groups() const { return divide_up(form().row.points(), group_rows()); }
  constexpr int64_t rows_of(int64_t group) const {
    return smaller(group_rows(), form().row.points() - group * group_rows());
  }
  constexpr int64_t points_of(int64_t group) const { return rows_of(group) * form().column.points(); }

  // Elements of a point's weights for one output block.
  constexpr int64_t block_size() const { return depth() * lanes; }
  // The offset of a chunk's weights for a group at an outer point.
  constexpr int64_t chunk_offset(int64_t outer_point, int64_t group, int64_t chunk) const {
    const int64_t rows_before = outer_point * form().row.points() + group * group_rows();
    return (rows_before * output_blocks() + 2 * chunk * rows_of(group)) * form().column.points() * block_size();
  }
  constexpr int64_t size() const { return chunk_offset(form().outer.points(), 0, 0); }

  // The offset of the weight of two channels at a point (outer, row, column).
  constexpr int64_t offset(const Axes& point, int64_t output_channel, int64_t input_channel) const {
    const int64_t block = output_channel / lanes, blocks = chunk_blocks(block / 2);
    const int64_t group_point = point.h % group_rows() * form().column.points() + point.w;
    return chunk_offset(point.d, point.h / group_rows(), block / 2) + group_point * blocks * block_size() +
           (input_channel * blocks + block % 2) * lanes + output_channel % lanes;
  }
};

// Winograd tiles in a register tile of the matrix product: as many as leave registers for the weights and the
// broadcast. The remainder at the end of a task uses the lower register tile when it fits.
constexpr int64_t winograd_rows(int target_lanes) { return machine::vector_unit(target_lanes).tile_rows(); }
constexpr int64_t winograd_short_rows(int target_lanes) { return machine::vector_unit(target_lanes).short_tile_rows(); }

// Tiles, rounded up to the register tiles that compute them.
constexpr int64_t winograd_padded_tiles(int64_t tiles, int target_lanes) {
  const int64_t rest = tiles % winograd_rows(target_lanes), full = tiles - rest;
  if (rest == 0) return full;
  return full +
         (rest <= winograd_short_rows(target_lanes) ? winograd_short_rows(target_lanes) : winograd_rows(target_lanes));
}

// The input columns that a number of tiles of a line reads.
constexpr int64_t winograd_line_columns(const WinogradAxis& column, int64_t tiles) {
  return (tiles - 1) * column.step() + column.points();
}

// One axis of a lattice of a dilated convolution: every `dilation`-th input and output voxel belongs to the lattice,
// from its first on.
struct WinogradLattice {
  int64_t first_input, input, output, pad;

  constexpr WinogradLattice(int64_t dilation, int64_t first_output, int64_t whole_input, int64_t whole_output,
                            int64_t begin_pad)
      : first_input(((first_output - begin_pad) % dilation + dilation) % dilation),
        input(divide_up(whole_input - first_input, dilation)),
        output(divide_up(whole_output - first_output, dilation)),
        pad((first_input + begin_pad - first_output) / dilation) {}
};

// A task computes some chunks of output channels for a range of tiles of one image, tiles in row-major order. Its
// scratch holds, for one group of row points: the transformed input of all channels [point][input block][tile][lane],
// one line of it before the width is transformed [row point][column][lane], a line of zeros, the products of one chunk
// [point][tile] [block][lane], and the partial outputs [output of a tile][chunk][tile][block][lane]. Strides are a line
// longer than needed, so that points do not share one set of the first-level cache.
struct WinogradGeometry {
  int64_t lattices;     // of an image: one without dilations, which is all of it; what follows is of each
  Axes tiles;           // in the kernel's order
  int64_t range_tiles;  // of a task; the last range may be shorter
  int64_t ranges;
  int64_t task_chunks;   // the last task of a range may have fewer
  int64_t splits;        // tasks that share a range
  bool prefetches;       // the input of the next range: if a range is small and little else wants the cache
  int64_t passes;        // how often the weights of an image come from memory: once if they stay in the cache
  int64_t block_stride;  // of an input block in scratch; this and all below in elements
  int64_t input_stride, product_stride, output_stride;              // of a point or of an output of a tile
  int64_t line_stride;                                              // of a row point of a line
  int64_t line_offset, zero_offset, product_offset, output_offset;  // in scratch
  KernelWork work;
};

constexpr WinogradGeometry winograd_geometry(const WinogradPacking& packing, const ConvSizes& sizes) {
  // Weights that stay in the second-level cache leave part of it to the transformed input and the products. Otherwise
  // these get all of it, so that the weights are read once for many tiles.
  constexpr int64_t resident_weights = 1280 * 1024;
  constexpr int64_t cached_weights = 8 * 1024 * 1024, least_groups = 3;
  constexpr int64_t waiting_weights = 512 * 1024, few_groups = 12;
  constexpr int64_t most_groups = 12, most_voxels = 1152, most_channels = 192, wished_tasks = 8;
  constexpr int64_t element = static_cast<int64_t>(sizeof(float)), line = 64 / element;
  const machine::VectorUnit& unit = machine::vector_unit(packing.lanes);
  const WinogradForm form = packing.form();
  const int64_t rows = winograd_rows(packing.lanes);
  const bool is_resident = packing.size() * element <= resident_weights;
  WinogradGeometry result{};
  result.lattices = form.lattices(sizes.output).product();
  result.tiles = form.tiles(sizes.output);
  const int64_t lattices = sizes.batch * result.lattices;
  const int64_t tiles = result.tiles.product();
  const int64_t channels = packing.input_blocks() * packing.lanes;
  // So few output channels are one task's: a second task would repeat the input transform for the last few of them.
  const bool is_unsplit = packing.output_blocks() * packing.lanes <= unit.most_channels_of_a_transform;
  const int64_t most_task_chunks =
      is_resident || is_unsplit ? packing.chunks() : smaller(packing.chunks(), most_channels / (2 * packing.lanes));
  // Scratch bytes of one register tile's tiles, in a task of this many chunks.
  const auto row_bytes = [&](int64_t chunks) {
    return (packing.points_of(0) * (channels + 2 * packing.lanes) +
            form.outputs().product() * chunks * 2 * packing.lanes) *
           rows * element;
  };
  // The chunks of a task, given the number of ranges. Few ranges are split by output channels; each part repeats the
  // input transform, so a part has at least two chunks.
  const auto split_chunks = [&](int64_t ranges) {
    const int64_t wished_splits = divide_up(wished_tasks, larger(1, lattices * ranges));
    return larger(smaller(most_task_chunks, divide_up(packing.chunks(), wished_splits)), smaller(2, packing.chunks()));
  };
  const int64_t range_groups = smaller(most_groups, most_voxels / (form.outputs().product() * rows));
  // A task of few chunks holds more tiles: when one range holds all tiles, the weights are read once.
  const bool is_single =
      !is_resident && tiles <= smaller(unit.cache_without_weights / row_bytes(split_chunks(1)), range_groups) * rows;
  const int64_t task_bytes = row_bytes(is_single ? split_chunks(1) : most_task_chunks);
  const int64_t budget = is_resident ? unit.cache_beside_weights : unit.cache_without_weights;
  // A group of tiles prefetches a quarter of the next point's weights (conv_winograd.h); what is then still in memory
  // is waited for. So with few tiles a range has at least three groups.
  const bool waits_for_weights =
      is_resident && packing.size() * element > waiting_weights && tiles <= few_groups * rows;
  const int64_t fitting_groups =
      larger(waits_for_weights ? least_groups : 1, smaller(budget / task_bytes, range_groups));
  // Ranges become shorter to give more tasks, as long as the weights are read again from a cache.
  const int64_t wished_groups = larger(least_groups, lattices * tiles / (wished_tasks * rows));
  const int64_t groups =
      packing.size() * element <= cached_weights ? smaller(fitting_groups, wished_groups) : fitting_groups;
  result.ranges = divide_up(tiles, groups * rows);
  result.range_tiles = result.ranges == 0 ? 0 : round_up(divide_up(tiles, result.ranges), rows);
  result.ranges = result.ranges == 0 ? 0 : divide_up(tiles, result.range_tiles);
  result.passes = is_resident ? 1 : result.ranges * result.lattices;
  result.task_chunks = split_chunks(result.ranges);
  result.splits = divide_up(packing.chunks(), result.task_chunks);

  result.prefetches = is_resident && result.splits == 1 && !form.is_dilated();

  const int64_t padded = winograd_padded_tiles(smaller(result.range_tiles, tiles), packing.lanes);
  result.block_stride = padded * packing.lanes + line;
  result.input_stride = packing.input_blocks() * result.block_stride + line;
  result.product_stride = padded * 2 * packing.lanes + line;
  result.output_stride = padded * 2 * packing.lanes * result.task_chunks + line;
  result.line_offset = packing.points_of(0) * result.input_stride;
  const int64_t line_columns = winograd_line_columns(form.column, smaller(result.range_tiles, result.tiles.w));
  result.line_stride = line_columns * packing.lanes + line;
  result.zero_offset = result.line_offset + (form.column.is_passed() ? 0 : packing.group_rows() * result.line_stride);
  result.product_offset = result.zero_offset + line_columns * form.column.dilation * packing.lanes;
  result.output_offset = result.product_offset + packing.points_of(0) * result.product_stride;
  const int64_t elements = result.output_offset + form.outputs().product() * result.output_stride;
  result.work = {lattices * result.ranges * result.splits, elements * element};
  return result;
}

}  // namespace onnxc::kernels
