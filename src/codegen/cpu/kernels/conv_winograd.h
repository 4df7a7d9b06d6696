// Convolution by Winograd's F(2, 3) along each axis of three taps: F(2,2,2) for 3x3x3, F(2,2) for 1x3x3, F(2) for
// 3x1x1, and the same of rank 1 and 2 (conv_winograd_geometry.h has the algorithm).
//
// Problem: as in conv_direct.h, for stride 1, dilation 1, one group and any pads. Method: for a range of tiles and each
// line point (a point of the depth and the height): transform the input of all channels at the four points of the width
// into scratch; then, for each chunk of output channels, multiply each point's tiles by its weights, transform the
// products back over the width and add them to the outputs of the tile that take this line point. Last, the epilogue is
// applied and the voxels that lie inside the output are stored. Lanes are channels, so the transforms are additions of
// whole vectors; what lies outside the input is gathered as zero. Scratch stays in the first-level cache where the
// weights stay in the second, else in the second: a store there costs three times as much, so that no more than a line
// point is transformed at once.
//
// Limits: one rounding more than a direct sum in each transform, about twice its error. What is not finite in the end
// is computed again (conv_winograd_recompute.h). Bound by: FMA throughput of the matrix products.
#pragma once

#include "codegen/cpu/kernels/conv_winograd_geometry.h"
#include "codegen/cpu/kernels/conv_winograd_recompute.h"
#include "codegen/cpu/kernels/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The matrix product of one register tile. v: [input block][row][lane], u: [depth][block][lane], m: [row][block][lane].
template <int rows, int blocks>
[[gnu::noinline]] static void winograd_multiply(const float* v, int64_t v_block_stride, const float* u, int64_t depth,
                                                float* m) {
  vec sums[rows][blocks];
  for (int i = 0; i < rows; ++i)
    for (int b = 0; b < blocks; ++b) sums[i][b] = splat(0.0f);
  constexpr int step = WinogradPacking::reduction_step;
  for (; depth > 0; depth -= lanes, v += v_block_stride) {
    const float* const end = v + (depth < lanes ? depth : lanes);
    // Rolled: unrolled further, clang keeps broadcasts live and spills the tile.
#pragma clang loop unroll(disable)
    for (const float* channel = v; channel < end; channel += step, u += step * blocks * lanes) {
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
  for (int i = 0; i < rows; ++i)
    for (int b = 0; b < blocks; ++b) store(m + (i * blocks + b) * lanes, sums[i][b]);
}

// A task's place in the work, and its geometry. Axes are in the kernel's order: .d, .h, .w are outer, row, column.
struct WinogradTask {
  WinogradPacking packing;
  WinogradForm form;
  WinogradGeometry geometry;
  Axes input, output, pads;
  int64_t outer_stride, row_stride, channel_block_stride;  // of the input
  int64_t batch;
  int64_t begin, end;              // tiles
  int64_t chunk_begin, chunk_end;  // of output channels
  float* scratch;

  WinogradTask(const WinogradPacking& packing_, const ConvSizes& sizes, const BlockedView& view, void* scratch_)
      : packing(packing_),
        form(packing.form()),
        geometry(winograd_geometry(packing, sizes)),
        input(form.ordered(sizes.input)),
        output(form.ordered(sizes.output)),
        pads(form.ordered(sizes.begin_pads)),
        outer_stride(form.swaps_depth_and_height ? view.h_stride : view.d_stride),
        row_stride(form.swaps_depth_and_height ? view.d_stride : view.h_stride),
        channel_block_stride(view.channel_block_stride),
        scratch(static_cast<float*>(scratch_)) {}

  // Splits of a range run fastest: they share its input.
  void select(int64_t task) {
    const int64_t range = task / geometry.splits % geometry.ranges, split = task % geometry.splits;
    batch = task / geometry.splits / geometry.ranges;
    begin = range * geometry.range_tiles;
    end = smaller(begin + geometry.range_tiles, geometry.tiles.product());
    chunk_begin = split * geometry.task_chunks;
    chunk_end = smaller(chunk_begin + geometry.task_chunks, packing.chunks());
  }

  // Coordinates of a tile.
  Axes locate(int64_t tile) const {
    const Axes& size = geometry.tiles;
    return {tile / size.w / size.h, tile / size.w % size.h, tile % size.w};
  }
  // Products of the first column point: [tile][block][lane] of a chunk.
  const float* products() const { return scratch + geometry.product_offset; }
  // Sums for the given output of a tile: [tile][block][lane] of a chunk.
  float* outputs(int64_t output_of_tile, int64_t chunk) const {
    return scratch + geometry.output_offset + output_of_tile * geometry.output_stride +
           (chunk - chunk_begin) * winograd_padded_tiles(end - begin, lanes) * 2 * lanes;
  }
};

// One axis of a line point: which two positions of a tile B d takes, and with which sign the second; which outputs A m
// gives them to. An axis that is passed through has one position and one output.
struct WinogradPoint {
  int first, second;
  float sign;
  float output_sign[2];  // 0: none
};
inline constexpr WinogradPoint winograd_points[4] = {
    {0, 2, -1, {1, 0}}, {1, 2, 1, {1, 1}}, {2, 1, -1, {1, -1}}, {1, 3, -1, {0, -1}}};

// ---- the input's transform
// ----------------------------------------------------------------------------------------------------------------------

// The lines of the input that a line of tiles reads at one line point: of one or two planes, one or two rows each.
template <class Input, int planes, int rows>
struct WinogradLines {
  const Input* source[planes][rows];  // column 0 of channel block 0; zeros for what lies outside
  int64_t channel_block_stride[planes][rows], step[planes][rows];  // from column to column; 0 for what lies outside
  bool is_inside = true;                                           // all of it
  float plane_sign, row_sign;
  int64_t width;

  WinogradLines(const WinogradTask& task, const Input* image, const Axes& tile, int plane_point, int row_point) {
    alignas(64) static constexpr Input zeros[lanes] = {};
    const WinogradPoint &p = winograd_points[plane_point], &r = winograd_points[row_point];
    plane_sign = p.sign;
    row_sign = r.sign;
    width = task.input.w;
    for (int i = 0; i < planes; ++i) {
      const int64_t plane = tile.d * planes - task.pads.d + (planes == 1 ? 0 : i == 0 ? p.first : p.second);
      for (int j = 0; j < rows; ++j) {
        const int64_t row = tile.h * rows - task.pads.h + (rows == 1 ? 0 : j == 0 ? r.first : r.second);
        const bool inside = plane >= 0 && plane < task.input.d && row >= 0 && row < task.input.h && width > 0;
        source[i][j] = inside ? image + plane * task.outer_stride + row * task.row_stride : zeros;
        channel_block_stride[i][j] = inside ? task.channel_block_stride : 0;
        step[i][j] = inside ? lanes : 0;
        is_inside &= inside;
      }
    }
  }

  void next_block() {
    for (int i = 0; i < planes; ++i)
      for (int j = 0; j < rows; ++j) source[i][j] += channel_block_stride[i][j];
  }

  // The sum over planes and rows at a column that lies inside the lines.
  template <bool inside>
  [[gnu::always_inline]] vec column(int64_t at) const {
    vec sum[planes];
    for (int i = 0; i < planes; ++i) {
      sum[i] = load(source[i][0] + at * (inside ? lanes : step[i][0]));
      if constexpr (rows == 2)
        sum[i] = fma(splat(row_sign), load(source[i][1] + at * (inside ? lanes : step[i][1])), sum[i]);
    }
    if constexpr (planes == 2) return fma(splat(plane_sign), sum[1], sum[0]);
    return sum[0];
  }

  // Transforms `count` tiles, the first of which begins at column `at`, to [column point][tile][lane]. Tiles whose
  // columns all lie inside the lines, nearly all of them, are free of tests.
  template <bool inside, bool transforms_column>
  [[gnu::always_inline]] void run(int64_t at, int64_t count, float* to, int64_t point_stride) const {
    const WinogradLines lines = *this;  // of this function's own: what the loops use stays in registers
    const auto any_column = [&](int64_t c) {
      const vec value = lines.template column<inside>(larger(0, smaller(c, lines.width - 1)));
      return keep_lanes(static_cast<vec_mask>(c >= 0 && c < lines.width ? -1 : 0), value);
    };
    const auto inner_column = [&](int64_t c) { return lines.template column<inside>(c); };
    if constexpr (!transforms_column) {
      const int64_t inner = larger(0, smaller(-at, count)), outer = larger(inner, smaller(lines.width - at, count));
      const auto move = [&](int64_t tiles, const auto& column) {
#pragma clang loop unroll(disable)
        for (; tiles > 0; --tiles, to += lanes) store(to, column(at++));
      };
      move(inner, any_column);
      move(outer - inner, inner_column);
      move(count - outer, any_column);
    } else {
      // From tile to tile two columns are new; the other two are those of the tile before.
      vec d[4] = {splat(0.0f), splat(0.0f), any_column(at), any_column(at + 1)};
      const int64_t inner = larger(0, smaller(divide_up(-at - 2, 2), count));
      const int64_t outer = larger(inner, smaller((lines.width - at - 2) / 2, count));
      const auto transform = [&](int64_t tiles, const auto& column) {
#pragma clang loop unroll(disable)
        for (; tiles > 0; --tiles, to += lanes) {
          at += 2;
          d[0] = d[2];
          d[1] = d[3];
          d[2] = column(at);
          d[3] = column(at + 1);
          store(to, d[0] - d[2]);
          store(to + point_stride, d[1] + d[2]);
          store(to + 2 * point_stride, d[2] - d[1]);
          store(to + 3 * point_stride, d[1] - d[3]);
        }
      };
      transform(inner, any_column);
      transform(outer - inner, inner_column);
      transform(count - outer, any_column);
    }
  }
};

// The column points of a task's tiles at one line point, all channels.
template <class Input, bool outer, bool row, bool column>
[[gnu::noinline]] static void winograd_transform_input(const WinogradTask& task, const Input* image, int plane_point,
                                                       int row_point) {
  float* to = task.scratch;
  for (int64_t tile = task.begin; tile < task.end;) {
    const Axes at = task.locate(tile);
    const int64_t count = smaller(task.geometry.tiles.w - at.w, task.end - tile);
    const int64_t first_column = at.w * (column ? 2 : 1) - task.pads.w;
    WinogradLines<Input, outer ? 2 : 1, row ? 2 : 1> lines(task, image, at, plane_point, row_point);
    for (int64_t block = 0; block < task.packing.input_blocks(); ++block, lines.next_block()) {
      float* block_to = to + block * task.geometry.block_stride;
      if (lines.is_inside)
        lines.template run<true, column>(first_column, count, block_to, task.geometry.input_stride);
      else
        lines.template run<false, column>(first_column, count, block_to, task.geometry.input_stride);
    }
    tile += count;
    to += count * lanes;
  }
}

// Brings one of the lines of the input (of a plane and a row) that the range of tiles after the task's reads towards
// the second-level cache. A range reads short pieces of many lines: the processor's own prefetch finds no stream.
template <class Input, bool outer, bool row, bool column>
[[gnu::noinline]] static void winograd_prefetch_input(const WinogradTask& task, const Input* image, int64_t line) {
  constexpr int64_t voxels = larger(1, 64 / (lanes * static_cast<int64_t>(sizeof(Input))));  // of a cache line
  constexpr int64_t row_lines = row ? 4 : 1;
  const int64_t end = smaller(task.end + task.geometry.range_tiles, task.geometry.tiles.product());
  for (int64_t tile = task.end; tile < end;) {
    const Axes at = task.locate(tile);
    const int64_t count = smaller(task.geometry.tiles.w - at.w, end - tile);
    tile += count;
    const int64_t plane = at.d * (outer ? 2 : 1) - task.pads.d + line / row_lines;
    const int64_t line_row = at.h * (row ? 2 : 1) - task.pads.h + line % row_lines;
    if (plane < 0 || plane >= task.input.d || line_row < 0 || line_row >= task.input.h) continue;
    const int64_t first = at.w * (column ? 2 : 1) - task.pads.w;
    const int64_t last = smaller(first + count * (column ? 2 : 1) + (column ? 2 : 0), task.input.w);
    const Input* source = image + plane * task.outer_stride + line_row * task.row_stride;
    for (int64_t block = 0; block < task.packing.input_blocks(); ++block, source += task.channel_block_stride)
      for (int64_t w = larger(first, 0); w < last; w += voxels) __builtin_prefetch(source + w * lanes, 0, 2);
  }
}

// ---- products and outputs
// -----------------------------------------------------------------------------------------------------------------------

// The products of all column points for one chunk of output channels, whose weights are `u`.
template <int blocks>
[[gnu::noinline]] static void winograd_multiply_points(const WinogradTask& task, const float* u) {
  constexpr int rows = winograd_rows(lanes), short_rows = winograd_short_rows(lanes);
  const int64_t tiles = task.end - task.begin, depth = task.packing.depth();
  const WinogradGeometry& geometry = task.geometry;
  for (int64_t point = 0; point < task.form.column_points(); ++point, u += blocks * task.packing.block_size()) {
    const float* v = task.scratch + point * geometry.input_stride;
    float* m = task.scratch + geometry.product_offset + point * geometry.product_stride;
    for (int64_t tile = 0; tile < tiles; tile += rows, v += rows * lanes, m += rows * blocks * lanes) {
      if (tiles - tile <= short_rows)
        winograd_multiply<short_rows, blocks>(v, geometry.block_stride, u, depth, m);
      else
        winograd_multiply<rows, blocks>(v, geometry.block_stride, u, depth, m);
    }
  }
}

// Transforms a chunk's products over the columns and adds them, with a sign, to one or two outputs of each tile.
template <bool column>
[[gnu::noinline]] static void winograd_add_outputs(const WinogradTask& task, int64_t count, float* to, float sign,
                                                   bool is_first) {
  const int64_t stride = task.geometry.product_stride;
  float* const second = to + task.geometry.output_stride;
  const float* m = task.products();
  const auto add = [&](float* at, vec value) {
    store(at, is_first ? value * sign : fma(splat(sign), value, load(at)));
  };
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < count; i += lanes) {
    const vec m0 = load(m + i);
    if constexpr (column) {
      const vec m1 = load(m + stride + i), m2 = load(m + 2 * stride + i), m3 = load(m + 3 * stride + i);
      add(to + i, m0 + m1 + m2);
      add(second + i, m1 - m2 - m3);
    } else {
      add(to + i, m0);
    }
  }
}

// Gives a chunk's products at one line point to the outputs of outer and row that take them.
template <bool outer, bool row, bool column>
static void winograd_scatter_outputs(const WinogradTask& task, int64_t chunk, int plane_point, int row_point) {
  const int64_t count = (task.end - task.begin) * task.packing.chunk_blocks(chunk) * lanes;
  for (int plane = 0; plane < (outer ? 2 : 1); ++plane) {
    for (int line = 0; line < (row ? 2 : 1); ++line) {
      const float sign = (outer ? winograd_points[plane_point].output_sign[plane] : 1.0f) *
                         (row ? winograd_points[row_point].output_sign[line] : 1.0f);
      if (sign == 0.0f) continue;
      // The first point that gives to output i of an axis is point i.
      const bool is_first = plane_point == plane && row_point == line;
      float* to = task.outputs((plane * (row ? 2 : 1) + line) * (column ? 2 : 1), chunk);
      winograd_add_outputs<column>(task, count, to, sign, is_first);
    }
  }
}

template <ConvShape shape, class Input, class Output, class Epilogue>
class WinogradConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(winograd_supports(shape), "a convolution that has no Winograd form");

  static KernelWork work(const ConvSizes& sizes) { return winograd_geometry(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    WinogradTask task(packing, arguments.sizes, arguments.input_view, scratch);
    for (int64_t index = task_begin; index < task_end; ++index) {
      task.select(index);
      const Input* image = arguments.input + task.batch * arguments.input_view.batch_stride;
      for (int point = 0; point < form.line_points(); ++point) add_line_point(task, image, arguments.weights, point);
      for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) finish(arguments, epilogue, task, chunk);
    }
  }

 private:
  static constexpr WinogradPacking packing{shape, lanes};
  static constexpr WinogradForm form = packing.form();

  static void add_line_point(const WinogradTask& task, const Input* image, const float* weights, int point) {
    constexpr int row_points = form.row ? 4 : 1;
    const int plane_point = point / row_points, row_point = point % row_points;
    winograd_transform_input<Input, form.outer, form.row, form.column>(task, image, plane_point, row_point);
    if (task.geometry.prefetches) winograd_prefetch_input<Input, form.outer, form.row, form.column>(task, image, point);
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      if (packing.chunk_blocks(chunk) == 2)
        winograd_multiply_points<2>(task, weights + packing.chunk_offset(point, chunk));
      else
        winograd_multiply_points<1>(task, weights + packing.chunk_offset(point, chunk));
      winograd_scatter_outputs<form.outer, form.row, form.column>(task, chunk, plane_point, row_point);
    }
  }

  // Applies the epilogue to a chunk's outputs and stores those that lie inside the output.
  static void finish(const Arguments& arguments, const Epilogue& epilogue, const WinogradTask& task, int64_t chunk) {
    const BlockedView& view = arguments.output_view;
    const int64_t blocks = packing.chunk_blocks(chunk);
    constexpr Axes outputs = form.outputs();
    const Input* image = arguments.input + task.batch * arguments.input_view.batch_stride;
    for (int64_t output = 0; output < outputs.product(); ++output) {
      const Axes corner{output / (outputs.h * outputs.w), output / outputs.w % outputs.h, output % outputs.w};
      const float* sums = task.outputs(output, chunk);
      Axes tile = task.locate(task.begin);
      for (int64_t i = task.begin; i < task.end; ++i, sums += blocks * lanes, advance(task.geometry.tiles, tile)) {
        const Axes at =
            form.ordered({tile.d * outputs.d + corner.d, tile.h * outputs.h + corner.h, tile.w * outputs.w + corner.w});
        const Axes& size = arguments.sizes.output;
        if (at.d >= size.d || at.h >= size.h || at.w >= size.w) continue;
        for (int64_t b = 0; b < blocks; ++b) {
          const int64_t block = 2 * chunk + b;
          const Position position{task.batch,
                                  block,
                                  at.d,
                                  at.h,
                                  at.w,
                                  task.batch * view.batch_stride + block * view.channel_block_stride +
                                      at.d * view.d_stride + at.h * view.h_stride + at.w * lanes};
          vec sum = load(sums + b * lanes);
          if (!all_finite(sum)) [[unlikely]]
            sum =
                winograd_recompute(packing, arguments.sizes, arguments.input_view, image, arguments.weights, at, block);
          vec value = epilogue(sum, position);
          if constexpr (shape.output_channels % lanes != 0)
            value = keep_lanes(first_lanes(shape.output_channels - block * lanes), value);
          store(arguments.output + position.offset, value);
        }
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
