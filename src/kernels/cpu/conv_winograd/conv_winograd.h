// Winograd convolution on NCHWc. Each axis of three taps uses F(2, 3) or F(4, 3): F(2,2,4) or F(2,4,4) for 3x3x3,
// F(2,4) or F(4,4) for 1x3x3, F(4) for 3x1x1 and the like, also of rank 1 and 2. Rows and columns of five taps use
// F(2, 5), axes of stride two F(2, 2) (the algorithm: conv_winograd_points.h and _geometry.h).
//
// Problem: as in conv_direct.h, for strides of one and two, any dilation of axes with stride one, one group and any
// pads. Method: a dilated convolution is computed one lattice (residue class of voxels) at a time, as a convolution
// without dilation. A task has a range of tiles. For each point of the outer axis and each group of row points
// (WinogradPacking::group_rows; all if they are few) it transforms all channels of the input over rows and columns into
// scratch. Then for each chunk of output channels it multiplies each point's tiles by the point's weights, transforms
// the products back in registers, and adds them to those outputs of the tile that take this outer point. Last it
// applies the epilogue and stores the voxels inside the output. Lanes are channels: the transforms are whole-vector
// FMAs; padding is read from a line of zeros. Scratch stays in the second-level cache. One point's tiles prefetch the
// next point's weights: 256 channels, whose weights come from memory, run 1.4 times as fast.
//
// Limits: the transforms round; shorter chains of channels make up for it, so that the error is about that of a direct
// sum in one chain. A NaN or infinity among the outputs is computed again (conv_winograd_recompute.h). Bound by: FMA
// throughput of the matrix products, 65 to 70% of the time with 64 channels and 80% with 128. Computing one line point
// at a time, in the first-level cache, was slower with few channels (3x1x1 1.1, 16 to 64 channels 1.04 to 1.13) and
// equal with 128 and more. With strides of two F(2,2,2) has 1.73 times fewer products and is 1.62 times as fast with 64
// to 128 channels, 1.3 with 32 to 64, no faster with 16.
#pragma once

#include "kernels/cpu/conv_winograd/conv_winograd_geometry.h"
#include "kernels/cpu/conv_winograd/conv_winograd_recompute.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Multiplies a chain of input channels into a register tile. At each step it prefetches, from `ahead` on, a quarter as
// many weights as it uses: four tiles prefetch all weights of a point.
template <int rows, int blocks>
[[gnu::always_inline]] inline void winograd_multiply_chain(const float*& v, int64_t v_block_stride, const float*& u,
                                                           const float*& ahead, int64_t depth,
                                                           vec (&sums)[rows][blocks]) {
  constexpr int step = WinogradPacking::reduction_step, prefetched = step * blocks / 4;
  for (int i = 0; i < rows; ++i)
    for (int b = 0; b < blocks; ++b) sums[i][b] = splat(0.0f);
  for (; depth > 0; depth -= lanes, v += v_block_stride) {
    const float* const end = v + (depth < lanes ? depth : lanes);
    // Rolled: unrolled further, clang keeps broadcasts live and spills the tile.
#pragma clang loop unroll(disable)
    for (const float* channel = v; channel < end;
         channel += step, u += step * blocks * lanes, ahead += prefetched * lanes) {
#pragma clang loop unroll(full)
      for (int i = 0; i < prefetched; ++i) __builtin_prefetch(ahead + i * lanes, 0, 3);
#pragma clang loop unroll(full)
      for (int c = 0; c < step; ++c) {
        vec row[blocks];
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) row[b] = load(u + (c * blocks + b) * lanes);
#pragma clang loop unroll(full)
        for (int i = 0; i < rows; ++i) {
          const vec element = load_splat(channel + i * lanes + c);
#pragma clang loop unroll(full)
          for (int b = 0; b < blocks; ++b) sums[i][b] = fma(element, row[b], sums[i][b]);
        }
      }
    }
  }
}

// The matrix product of one register tile. v: [input block][row][lane], u: [depth][block][lane], m: [row][block][lane].
template <int rows, int blocks>
[[gnu::noinline]] void winograd_multiply(const float* v, int64_t v_block_stride, const float* u, const float* ahead,
                                         int64_t depth, int64_t chain, float* m) {
  vec sums[rows][blocks], totals[rows][blocks];
  winograd_multiply_chain(v, v_block_stride, u, ahead, smaller(depth, chain), sums);
  if (depth > chain) {
    // In memory, and not in m: that may be in the second-level cache.
    for (int i = 0; i < rows; ++i)
      for (int b = 0; b < blocks; ++b) totals[i][b] = sums[i][b];
    while ((depth -= chain) > 0) {
      winograd_multiply_chain(v, v_block_stride, u, ahead, smaller(depth, chain), sums);
      for (int i = 0; i < rows; ++i)
        for (int b = 0; b < blocks; ++b) totals[i][b] = sums[i][b] += totals[i][b];
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int b = 0; b < blocks; ++b) store(m + (i * blocks + b) * lanes, sums[i][b]);
}

// Compiled with the runtime (conv_winograd_instances.cpp).
extern template void winograd_multiply<winograd_rows(lanes), 1>(const float*, int64_t, const float*, const float*,
                                                                int64_t, int64_t, float*);
extern template void winograd_multiply<winograd_rows(lanes), 2>(const float*, int64_t, const float*, const float*,
                                                                int64_t, int64_t, float*);
extern template void winograd_multiply<winograd_short_rows(lanes), 1>(const float*, int64_t, const float*, const float*,
                                                                      int64_t, int64_t, float*);
extern template void winograd_multiply<winograd_short_rows(lanes), 2>(const float*, int64_t, const float*, const float*,
                                                                      int64_t, int64_t, float*);

// Compiled with the runtime, as is everything here that is not a template or an `extern` one.
WinogradGeometry winograd_geometry_at_run_time(const WinogradPacking& packing, const ConvSizes& sizes);

// Which tiles a task computes, and its geometry. Axes are in the kernel's order: .d, .h, .w are outer, row, column.
struct WinogradTask {
  WinogradPacking packing;
  WinogradForm form;
  WinogradGeometry geometry;
  Axes input, output, pads;
  int64_t outer_stride, row_stride, channel_block_stride;  // of the input
  // With dilations all of the above are the lattice's, which starts here.
  Axes first_output = {0, 0, 0};
  int64_t input_offset = 0;  // elements from the image
  int64_t batch;
  int64_t begin, end;              // tiles
  int64_t chunk_begin, chunk_end;  // of output channels
  float* scratch;

  // Clears the line of zeros.
  WinogradTask(const WinogradPacking& packing, const ConvSizes& sizes, const BlockedView& view, void* scratch);

  // Splits of a range run fastest: they share its input.
  void select(int64_t task) {
    const int64_t range = task / geometry.splits % geometry.ranges, split = task % geometry.splits;
    batch = task / geometry.splits / geometry.ranges;
    begin = range * geometry.range_tiles;
    end = smaller(begin + geometry.range_tiles, geometry.tiles.product());
    chunk_begin = split * geometry.task_chunks;
    chunk_end = smaller(chunk_begin + geometry.task_chunks, packing.chunks());
  }

  // With dilations: sets the lattice of the selected task, since `batch` has counted the lattices too.
  void select_lattice(const ConvSizes& sizes, const BlockedView& view);
  // The output position of a position in the lattice.
  Axes voxel(const Axes& at) const {
    const Axes apart = form.dilation();
    return {first_output.d + at.d * apart.d, first_output.h + at.h * apart.h, first_output.w + at.w * apart.w};
  }

  // Coordinates of a tile.
  Axes locate(int64_t tile) const {
    const Axes& size = geometry.tiles;
    return {tile / size.w / size.h, tile / size.w % size.h, tile % size.w};
  }
  // A line of zeros, from which lines outside the input are read.
  template <class Input>
  const Input* zeros() const {
    return reinterpret_cast<const Input*>(scratch + geometry.zero_offset);
  }
  // Products of the first point: [tile][block][lane] of a chunk.
  const float* products() const { return scratch + geometry.product_offset; }
  // Sums for the given output of a tile: [tile][block][lane] of a chunk.
  float* outputs(int64_t output_of_tile, int64_t chunk) const {
    return scratch + geometry.output_offset + output_of_tile * geometry.output_stride +
           (chunk - chunk_begin) * winograd_padded_tiles(end - begin, lanes) * 2 * lanes;
  }
};

// ---- the input's transform
// ----------------------------------------------------------------------------------------------------------------------

// Computes `count` points of one axis, from point `first` on, from the axis's inputs.
template <WinogradAxis axis, int first, int count>
[[gnu::always_inline]] inline void winograd_transform_points(const vec (&inputs)[axis.points()], float* to,
                                                             int64_t point_stride) {
#pragma clang loop unroll(full)
  for (int i = 0; i < count; ++i) {
    const WinogradPoint& point = axis.table()[first + i];
    vec sum = inputs[point.position[0]];
#pragma clang loop unroll(full)
    for (int j = 1; j < point.inputs; ++j) sum = fma(splat(point.factor[j]), inputs[point.position[j]], sum);
    store(to + i * point_stride, sum);
  }
}

// The lines of the input that a line of tiles reads at one outer point, which sums `planes` planes.
template <class Input, WinogradForm form, int planes>
struct WinogradLines {
  static constexpr int rows = form.row.points();
  static constexpr int64_t step = form.column.dilation * lanes;  // from a column to the next

  const Input* source[planes][rows];  // from the given column of channel block 0 on; zeros for what lies outside
  int64_t channel_block_stride[planes][rows];
  float factor[planes];  // the first is 1

  [[gnu::noinline]] WinogradLines(const WinogradTask& task, const Input* image, const Axes& tile, int64_t column,
                                  const WinogradPoint& outer_point) {
#pragma clang loop unroll(disable)
    for (int i = 0; i < planes; ++i) {
      factor[i] = outer_point.factor[i];
      const int64_t plane = tile.d * form.outer.step() - task.pads.d + outer_point.position[i];
#pragma clang loop unroll(disable)
      for (int j = 0; j < rows; ++j) {
        const int64_t row = tile.h * form.row.step() - task.pads.h + j;
        const bool inside = plane >= 0 && plane < task.input.d && row >= 0 && row < task.input.h;
        source[i][j] = inside ? image + plane * task.outer_stride + row * task.row_stride + column * step
                              : task.template zeros<Input>();
        channel_block_stride[i][j] = inside ? task.channel_block_stride : 0;
      }
    }
  }

  void next_block() {
    for (int i = 0; i < planes; ++i)
      for (int j = 0; j < rows; ++j) source[i][j] += channel_block_stride[i][j];
  }

  // `group_rows` of the row points, from `first_row` on, at the first `count` columns.
  template <int first_row, int group_rows>
  [[gnu::always_inline]] void transform(int64_t count, float* to, int64_t point_stride) const {
    const WinogradLines lines = *this;  // of this function's own: what the loop uses stays in registers
#pragma clang loop unroll(disable)
    for (int64_t at = 0; at < count * step; at += step, to += lanes) {
      vec row[rows];
#pragma clang loop unroll(full)
      for (int j = 0; j < rows; ++j) {
        row[j] = load(lines.source[0][j] + at);
#pragma clang loop unroll(full)
        for (int i = 1; i < planes; ++i) row[j] = fma(splat(lines.factor[i]), load(lines.source[i][j] + at), row[j]);
      }
      winograd_transform_points<form.row, first_row, group_rows>(row, to, point_stride);
    }
  }
};

// Transforms a line's columns to [column point][tile][lane].
template <WinogradAxis axis>
[[gnu::noinline]] static void winograd_transform_columns(const float* columns, int64_t tiles, float* to,
                                                         int64_t point_stride) {
  constexpr int count = axis.points();
#pragma clang loop unroll(disable)
  for (; tiles > 0; --tiles, to += lanes, columns += axis.step() * lanes) {
    vec inputs[count];
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i) inputs[i] = load(columns + i * lanes);
    winograd_transform_points<axis, 0, count>(inputs, to, point_stride);
  }
}

// Zeros at the columns [0, begin) and [end, count) of each of some row points.
void winograd_clear_edges(float* to, int64_t begin, int64_t end, int64_t count, int64_t row_points,
                          int64_t point_stride);

// The points of a group of rows, of a task's tiles and all channels, at an outer point that takes `planes` planes.
template <class Input, WinogradForm form, int planes, int first_row, int group_rows>
[[gnu::noinline]] static void winograd_transform_planes(const WinogradTask& task, const Input* image,
                                                        const WinogradPoint& outer_point) {
  constexpr int columns = form.column.points();
  constexpr bool is_passed = form.column.is_passed();
  const WinogradGeometry& geometry = task.geometry;
  float* to = task.scratch;
  float* const line = task.scratch + geometry.line_offset;
  for (int64_t tile = task.begin; tile < task.end;) {
    const Axes at = task.locate(tile);
    const int64_t tiles = smaller(geometry.tiles.w - at.w, task.end - tile);
    const int64_t first_column = at.w * form.column.step() - task.pads.w;
    // Columns [begin, end) of those that the tiles read are inside the input.
    const int64_t count = winograd_line_columns(form.column, tiles);
    const int64_t begin = larger(0, smaller(-first_column, count));
    const int64_t end = larger(begin, smaller(task.input.w - first_column, count));
    const bool has_edges = end - begin < count;
    WinogradLines<Input, form, planes> lines(task, image, at, first_column + begin, outer_point);
    if (!is_passed && has_edges) winograd_clear_edges(line, begin, end, count, group_rows, geometry.line_stride);
#pragma clang loop unroll(disable)
    for (int64_t block = 0; block < task.packing.input_blocks(); ++block, lines.next_block()) {
      float* block_to = to + block * geometry.block_stride;
      if constexpr (is_passed) {
        if (has_edges) winograd_clear_edges(block_to, begin, end, count, group_rows, geometry.input_stride);
        lines.template transform<first_row, group_rows>(end - begin, block_to + begin * lanes, geometry.input_stride);
      } else {
        lines.template transform<first_row, group_rows>(end - begin, line + begin * lanes, geometry.line_stride);
#pragma clang loop unroll(disable)
        for (int row = 0; row < group_rows; ++row, block_to += columns * geometry.input_stride)
          winograd_transform_columns<form.column>(line + row * geometry.line_stride, tiles, block_to,
                                                  geometry.input_stride);
      }
    }
    tile += tiles;
    to += tiles * lanes;
  }
}

// The same for points that take any number of planes.
template <class Input, WinogradForm form, int first_row, int group_rows, int planes = form.outer.most_inputs()>
[[gnu::always_inline]] inline void winograd_transform_any_planes(const WinogradTask& task, const Input* image,
                                                                 const WinogradPoint& outer_point) {
  if constexpr (planes > form.outer.fewest_inputs())
    if (outer_point.inputs < planes)
      return winograd_transform_any_planes<Input, form, first_row, group_rows, planes - 1>(task, image, outer_point);
  winograd_transform_planes<Input, form, planes, first_row, group_rows>(task, image, outer_point);
}

// Prefetches, towards the second-level cache, one input line (of a plane and a row) of the range of tiles after the
// task's. A range reads short pieces of many lines, in which the processor's own prefetcher finds no stream.
template <class Input>
[[gnu::noinline]] void winograd_prefetch_input(const WinogradTask& task, const Input* image, int64_t line) {
  constexpr int64_t voxels = larger(1, 64 / (lanes * static_cast<int64_t>(sizeof(Input))));  // of a cache line
  const Axes step = task.form.step();
  const int64_t row_lines = task.form.row.points();
  const int64_t end = smaller(task.end + task.geometry.range_tiles, task.geometry.tiles.product());
  for (int64_t tile = task.end; tile < end;) {
    const Axes at = task.locate(tile);
    const int64_t count = smaller(task.geometry.tiles.w - at.w, end - tile);
    tile += count;
    const int64_t plane = at.d * step.d - task.pads.d + line / row_lines;
    const int64_t line_row = at.h * step.h - task.pads.h + line % row_lines;
    if (plane < 0 || plane >= task.input.d || line_row < 0 || line_row >= task.input.h) continue;
    const int64_t first = at.w * step.w - task.pads.w;
    const int64_t last = smaller(first + winograd_line_columns(task.form.column, count), task.input.w);
    const Input* source = image + plane * task.outer_stride + line_row * task.row_stride;
    for (int64_t block = 0; block < task.packing.input_blocks(); ++block, source += task.channel_block_stride)
      for (int64_t w = larger(first, 0); w < last; w += voxels) __builtin_prefetch(source + w * lanes, 0, 2);
  }
}

extern template void winograd_prefetch_input<float>(const WinogradTask&, const float*, int64_t);

// ---- products and outputs
// -----------------------------------------------------------------------------------------------------------------------

// The products of a group's points for one chunk of output channels, whose weights are `u`. While a point's tiles are
// multiplied they prefetch the next point's weights; the last point's prefetch `next`, whose first tile would otherwise
// wait for every line.
template <int blocks>
[[gnu::noinline]] void winograd_multiply_points(const WinogradTask& task, int64_t points, const float* u,
                                                const float* next) {
  constexpr int rows = winograd_rows(lanes), short_rows = winograd_short_rows(lanes);
  const int64_t tiles = task.end - task.begin, depth = task.packing.depth(), chain = task.packing.chain();
  const WinogradGeometry& geometry = task.geometry;
  const int64_t size = blocks * task.packing.block_size();
  for (int64_t point = 0; point < points; ++point, u += size) {
    const float* const ahead = point + 1 < points ? u + size : next;
    const float* v = task.scratch + point * geometry.input_stride;
    float* m = task.scratch + geometry.product_offset + point * geometry.product_stride;
    for (int64_t tile = 0; tile < tiles; tile += rows, v += rows * lanes, m += rows * blocks * lanes) {
      const float* const part = ahead + size * tile / tiles;
      if (tiles - tile <= short_rows)
        winograd_multiply<short_rows, blocks>(v, geometry.block_stride, u, part, depth, chain, m);
      else
        winograd_multiply<rows, blocks>(v, geometry.block_stride, u, part, depth, chain, m);
    }
  }
}

extern template void winograd_multiply_points<1>(const WinogradTask&, int64_t, const float*, const float*);
extern template void winograd_multiply_points<2>(const WinogradTask&, int64_t, const float*, const float*);

// The sums of all tiles for one output of the outer axis, and how the products of an outer point are added to them.
struct WinogradTarget {
  float* sums;  // of row and column output 0
  float factor;
  bool is_first;  // no outer point before has added to them
};

// Four outputs of an axis from its six products: the products at +p and -p are added and subtracted once.
template <WinogradAxis axis>
[[gnu::always_inline]] inline void winograd_outputs_of_four(const vec (&products)[6], vec (&sums)[4]) {
  constexpr const WinogradPoint &near = axis.table()[1], &far = axis.table()[3];
  const vec near_even = products[1] + products[2], near_odd = products[1] - products[2];
  const vec far_even = products[3] + products[4], far_odd = products[3] - products[4];
  sums[0] = products[0] + (near_even + far_even);
  sums[1] = fma(splat(near.output[1]), near_odd, far_odd * far.output[1]);
  sums[2] = fma(splat(near.output[2]), near_even, far_even * far.output[2]);
  sums[3] = fma(splat(near.output[3]), near_odd, fma(splat(far.output[3]), far_odd, products[5]));
}

// As winograd_add_outputs, for tiles of 4x4, whose sums do not fit sixteen registers: first over rows, to the stack,
// then over columns.
template <WinogradForm form, int first_row, int group_rows>
[[gnu::noinline]] static void winograd_add_square_outputs(const WinogradTask& task, int64_t count,
                                                          const WinogradTarget* targets, int target_count) {
  constexpr int outputs = 4, points = 6;
  constexpr const WinogradPoint* row_points = form.row.table() + first_row;
  const int64_t product_stride = task.geometry.product_stride, output_stride = task.geometry.output_stride;
  const float* products = task.products();
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < count; i += lanes) {
    vec row_sums[outputs][points];
#pragma clang loop unroll(disable)
    for (int point = 0; point < points; ++point) {
      vec product[group_rows], sums[outputs];
#pragma clang loop unroll(full)
      for (int row = 0; row < group_rows; ++row)
        product[row] = load(products + (row * points + point) * product_stride + i);
      if constexpr (group_rows == points) {
        winograd_outputs_of_four<form.row>(product, sums);
      } else {
#pragma clang loop unroll(full)
        for (int row = 0; row < group_rows; ++row)
#pragma clang loop unroll(full)
          for (int r = 0; r < outputs; ++r) {
            const float factor = row_points[row].output[r];
            if (factor == 0.0f) continue;
            sums[r] = row == form.row.first_point(r, first_row) - first_row ? product[row] * factor
                                                                            : fma(splat(factor), product[row], sums[r]);
          }
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < outputs; ++r)
        if (form.row.first_point(r, first_row) < first_row + group_rows) row_sums[r][point] = sums[r];
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < outputs; ++r) {
      if (form.row.first_point(r, first_row) >= first_row + group_rows) continue;
      vec sums[outputs];
      winograd_outputs_of_four<form.column>(row_sums[r], sums);
#pragma clang loop unroll(disable)
      for (int t = 0; t < target_count; ++t) {
        const vec factor = splat(targets[t].factor);
        const bool is_first = targets[t].is_first && form.row.first_point(r) >= first_row;
        float* to = targets[t].sums + r * outputs * output_stride + i;
#pragma clang loop unroll(full)
        for (int c = 0; c < outputs; ++c, to += output_stride)
          store(to, is_first ? sums[c] * factor : fma(factor, sums[c], load(to)));
      }
    }
  }
}

// Transforms a chunk's products of a group of rows over rows and columns and adds them to the targets.
template <WinogradForm form, int first_row, int group_rows>
[[gnu::noinline]] static void winograd_add_outputs(const WinogradTask& task, int64_t count,
                                                   const WinogradTarget* targets, int target_count) {
  constexpr int rows = form.row.outputs, columns = form.column.outputs, points = form.column.points();
  constexpr const WinogradPoint *row_points = form.row.table() + first_row, *column_points = form.column.table();
  const int64_t product_stride = task.geometry.product_stride, output_stride = task.geometry.output_stride;
  const float* products = task.products();
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < count; i += lanes) {
    vec sums[rows][columns];
#pragma clang loop unroll(full)
    for (int point = 0; point < points; ++point) {
      vec row_sums[rows];
#pragma clang loop unroll(full)
      for (int row = 0; row < group_rows; ++row) {
        const vec product = load(products + (row * points + point) * product_stride + i);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; ++r) {
          const float factor = row_points[row].output[r];
          if (factor == 0.0f) continue;
          row_sums[r] = row == form.row.first_point(r, first_row) - first_row
                            ? product * factor
                            : fma(splat(factor), product, row_sums[r]);
        }
      }
#pragma clang loop unroll(full)
      for (int c = 0; c < columns; ++c) {
        const float factor = column_points[point].output[c];
        if (factor == 0.0f) continue;
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; ++r) {
          if (form.row.first_point(r, first_row) >= first_row + group_rows) continue;
          sums[r][c] =
              point == form.column.first_point(c) ? row_sums[r] * factor : fma(splat(factor), row_sums[r], sums[r][c]);
        }
      }
    }
#pragma clang loop unroll(disable)
    for (int t = 0; t < target_count; ++t) {
      const vec factor = splat(targets[t].factor);
#pragma clang loop unroll(full)
      for (int r = 0; r < rows; ++r) {
        if (form.row.first_point(r, first_row) >= first_row + group_rows) continue;
        const bool is_first = targets[t].is_first && form.row.first_point(r) >= first_row;
        float* to = targets[t].sums + r * columns * output_stride + i;
#pragma clang loop unroll(full)
        for (int c = 0; c < columns; ++c, to += output_stride)
          store(to, is_first ? sums[r][c] * factor : fma(factor, sums[r][c], load(to)));
      }
    }
  }
}

// The transforms of a group of rows; they do not depend on the output channels.
template <class Input, WinogradForm form, int first_row, int group_rows>
struct WinogradTransforms {
  [[gnu::noinline]] static void transform_input(const WinogradTask& task, const Input* image, int outer_point) {
    winograd_transform_any_planes<Input, form, first_row, group_rows>(task, image, form.outer.table()[outer_point]);
  }

  // Gives a chunk's products at one outer point to the outputs of the outer axis that take them.
  [[gnu::noinline]] static void scatter_outputs(const WinogradTask& task, int64_t chunk, int outer_point) {
    constexpr Axes outputs = form.outputs();
    WinogradTarget targets[outputs.d];
    int count = 0;
    for (int plane = 0; plane < outputs.d; ++plane) {
      const float factor = form.outer.table()[outer_point].output[plane];
      if (factor == 0.0f) continue;
      targets[count++] = {task.outputs(plane * outputs.h * outputs.w, chunk), factor,
                          outer_point == form.outer.first_point(plane)};
    }
    const int64_t elements = (task.end - task.begin) * task.packing.chunk_blocks(chunk) * lanes;
    if constexpr (outputs.h == 4 && outputs.w == 4)
      winograd_add_square_outputs<form, first_row, group_rows>(task, elements, targets, count);
    else
      winograd_add_outputs<form, first_row, group_rows>(task, elements, targets, count);
  }
};

// The instances for common layers are in the runtime: up to 99 input channels or more, whose rows are one group, and
// F(2,2,2) with 225 to 448, whose rows are groups of their own.
template <Axes kernel, Axes stride, Axes tile>
inline constexpr WinogradForm common_form = winograd_form(ConvShape{1, 1, 1, kernel, stride}, tile);
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 0, 4>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 0, 1>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 1, 1>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 2, 1>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 2}>, 3, 1>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 2, 4}>, 0, 4>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{1, 1, 1}, Axes{2, 4, 4}>, 0, 6>;
extern template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 2, 2}>, 0, 4>;
extern template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 2, 4}>, 0, 4>;
extern template struct WinogradTransforms<float, common_form<Axes{1, 3, 3}, Axes{1, 1, 1}, Axes{1, 4, 4}>, 0, 6>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 1, 1}, Axes{1, 1, 1}, Axes{2, 1, 1}>, 0, 4>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 1, 1}, Axes{1, 1, 1}, Axes{4, 1, 1}>, 0, 6>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{2, 2, 2}, Axes{1, 2, 2}>, 0, 5>;
extern template struct WinogradTransforms<float, common_form<Axes{3, 3, 3}, Axes{2, 2, 2}, Axes{2, 2, 2}>, 0, 5>;

// `tile_outputs`: of a tile, along each axis (winograd_supports).
template <ConvShape shape, class Input, class Output, class Epilogue, Axes tile_outputs>
class WinogradConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(winograd_supports(shape, tile_outputs), "a convolution that has no such Winograd form");

  static KernelWork work(const ConvSizes& sizes) { return winograd_geometry_at_run_time(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    WinogradTask task(packing, arguments.sizes, arguments.input_view, scratch);
    for (int64_t index = task_begin; index < task_end; ++index) {
      task.select(index);
      if constexpr (form.is_dilated()) task.select_lattice(arguments.sizes, arguments.input_view);
      const Input* image = arguments.input + task.batch * arguments.input_view.batch_stride;
      if constexpr (form.is_dilated()) image += task.input_offset;
      for (int point = 0; point < form.outer.points(); ++point) add_groups(task, image, arguments.weights, point);
      for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) finish(arguments, epilogue, task, chunk);
    }
  }

 private:
  static constexpr WinogradPacking packing{shape, tile_outputs, lanes};
  static constexpr WinogradForm form = packing.form();
  static constexpr bool pools = requires { Epilogue::window; };  // conv_pooled.h
  static_assert(!pools || !form.is_dilated(), "a window's voxels would be those of several tasks");

  // All groups of rows at an outer point, from `group` on.
  template <int group = 0>
  static void add_groups(const WinogradTask& task, const Input* image, const float* weights, int point) {
    constexpr int first_row = group * packing.group_rows(), rows = packing.rows_of(group);
    constexpr int64_t points = packing.points_of(group);
    constexpr bool is_last = group + 1 == packing.row_groups();
    using Transforms = WinogradTransforms<Input, form, first_row, rows>;
    Transforms::transform_input(task, image, point);
    if (task.geometry.prefetches)
      for (int row = first_row; row < first_row + rows; ++row)
        winograd_prefetch_input(task, image, point * form.row.points() + row);
    const float* const next_group = weights + packing.chunk_offset(is_last ? (point + 1) % form.outer.points() : point,
                                                                   is_last ? 0 : group + 1, task.chunk_begin);
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      const float* const u = weights + packing.chunk_offset(point, group, chunk);
      const float* const next =
          chunk + 1 < task.chunk_end ? weights + packing.chunk_offset(point, group, chunk + 1) : next_group;
      if (packing.chunk_blocks(chunk) == 2)
        winograd_multiply_points<2>(task, points, u, next);
      else
        winograd_multiply_points<1>(task, points, u, next);
      Transforms::scatter_outputs(task, chunk, point);
    }
    if constexpr (!is_last) add_groups<group + 1>(task, image, weights, point);
  }

  // Applies the epilogue to a chunk's outputs and stores those inside the output, one output line at a time: the line
  // comes from memory, and in order it comes fastest.
  static void finish(const Arguments& arguments, const Epilogue& epilogue, const WinogradTask& task, int64_t chunk) {
    const int64_t blocks = packing.chunk_blocks(chunk);
    for (int64_t begin = task.begin; begin < task.end;) {
      const Axes tile = task.locate(begin);
      const int64_t count = smaller(task.geometry.tiles.w - tile.w, task.end - begin);
      if constexpr (pools)
        for (int64_t b = 0; b < blocks; ++b) pool_line(arguments, epilogue, task, tile, begin, begin + count, chunk, b);
      else
        finish_lines(arguments, epilogue, task, tile, begin, count, chunk);
      begin += count;
    }
  }

  static void finish_lines(const Arguments& arguments, const Epilogue& epilogue, const WinogradTask& task,
                           const Axes& tile, int64_t begin, int64_t count, int64_t chunk) {
    constexpr Axes outputs = form.outputs();
    const int64_t blocks = packing.chunk_blocks(chunk);
    for (int64_t plane = 0; plane < outputs.d; ++plane)
      for (int64_t row = 0; row < outputs.h; ++row) {
        float* sums = task.outputs((plane * outputs.h + row) * outputs.w, chunk);
        const Axes at{tile.d * outputs.d + plane, tile.h * outputs.h + row, tile.w * outputs.w};
        if (at.d >= task.output.d || at.h >= task.output.h) continue;
        for (int64_t b = 0; b < blocks; ++b)
          finish_line(arguments, epilogue, task, at, 2 * chunk + b, count,
                      sums + ((begin - task.begin) * blocks + b) * lanes, blocks * lanes);
      }
  }

  // The outputs of `tiles` tiles from voxel `first` (of the lattice) on, in the kernel's order of axes.
  static void finish_line(const Arguments& arguments, const Epilogue& epilogue, const WinogradTask& task,
                          const Axes& first, int64_t block, int64_t tiles, float* sums, int64_t tile_stride) {
    constexpr int64_t columns = form.column.outputs, apart = form.column.dilation;
    const BlockedView& view = arguments.output_view;
    const Axes at = form.ordered(form.is_dilated() ? task.voxel(first) : first);
    Position position{task.batch, block, at.d, at.h, at.w, 0};
    position.offset = task.batch * view.batch_stride + block * view.channel_block_stride + at.d * view.d_stride +
                      at.h * view.h_stride + at.w * lanes;
    const int64_t count = smaller(tiles * columns, task.output.w - first.w);
    bool is_mended = false;
    for (int64_t i = 0; i < count; ++i, position.w += apart, position.offset += apart * lanes) {
      vec sum = load(sums + i / columns * tile_stride + i % columns * task.geometry.output_stride);
      if (!all_finite(sum) && !is_mended) [[unlikely]] {
        is_mended = true;
        recompute(arguments, task.batch,
                  {at, apart, count, block, sums, columns, tile_stride, task.geometry.output_stride});
        sum = load(sums + i / columns * tile_stride + i % columns * task.geometry.output_stride);
      }
      vec value = epilogue(sum, position);
      if constexpr (shape.output_channels % lanes != 0)
        value = keep_lanes(first_lanes(shape.output_channels - block * lanes), value);
      store(arguments.output + position.offset, value);
    }
  }

  // Passes one block's outputs of a line of tiles, which begins at `first`, to an epilogue that pools.
  [[gnu::noinline]] static void pool_line(const Arguments& arguments, const Epilogue& epilogue,
                                          const WinogradTask& task, const Axes& first, int64_t begin, int64_t end,
                                          int64_t chunk, int64_t b) {
    constexpr Axes outputs = form.outputs(), window = form.ordered(Epilogue::window);
    const int64_t blocks = packing.chunk_blocks(chunk);
    for (int64_t plane = 0; plane < outputs.d; plane += window.d)
      for (int64_t row = 0; row < outputs.h; row += window.h) {
        const Axes line{first.d * outputs.d + plane, first.h * outputs.h + row, first.w * outputs.w};
        const Axes at = form.ordered(line);
        Position position{task.batch, 2 * chunk + b, at.d, at.h, at.w, 0};
#pragma clang loop unroll(disable)
        for (int64_t tile = begin; tile < end; ++tile)
#pragma clang loop unroll(full)
          for (int64_t column = 0; column < outputs.w; column += window.w, position.w += window.w)
            epilogue.pool(
                position,
                [&](const Axes& place) __attribute__((always_inline)) {
                  const Axes to = form.ordered(place);
                  const int64_t output = ((plane + to.d) * outputs.h + row + to.h) * outputs.w + column + to.w;
                  return load(task.outputs(output, chunk) + ((tile - task.begin) * blocks + b) * lanes);
                },
                [&](const Position& voxel) __attribute__((always_inline)) { return sum_directly(arguments, voxel); });
      }
  }

  static void recompute(const Arguments& arguments, int64_t batch, const WinogradVoxels& voxels) {
    winograd_recompute(packing, arguments.sizes, arguments.input_view,
                       arguments.input + batch * arguments.input_view.batch_stride, arguments.weights, voxels);
  }

  // A voxel whose sum is not finite.
  static vec sum_directly(const Arguments& arguments, const Position& at) {
    float sum[lanes];
    store(sum, splat(__builtin_nanf("")));
    recompute(arguments, at.n, {{at.d, at.h, at.w}, 1, 1, at.channel_block, sum});
    return load(sum);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
