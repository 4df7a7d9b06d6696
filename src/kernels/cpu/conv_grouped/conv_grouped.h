// Convolution and transposed convolution in groups of few outputs, on NCHWc: any kernel, stride, dilation and begin
// pads, ranks 1 to 3, with any number of inputs and outputs a group: depthwise transposed, depth multipliers, 3 -> 5.
//
// Problem: y[n, o, z] = epilogue(sum over i, k of x[n, group(o) * inputs + i, z * stride - pad + k * dilation] * w[o,
// i, k]), or its transpose. A group fills few lanes of a vector, and begins wherever the one before ends. Method: a
// vector is a block of the output, whatever groups it meets: lane by lane its input number i is a channel of the lane's
// own group. They are gathered from the one, two or more blocks that hold them by a permutation of each, so that no
// lane reads another group and no infinity or NaN crosses. If a group fills a vector they are one broadcast. A register
// tile is up to 16 outputs of one row that read the same taps: of a transposed convolution every stride-th. For each
// row of the kernel and each input number its taps are loaded once, and each column that the tile reads is gathered
// once and serves all outputs and taps that meet in it. Rows of the kernel in the padding are skipped; only the first
// and last columns of a tile can lie outside of the input row, and are zeros there.
//
// Limits: fewer outputs a group than two vectors have lanes (grouped_supports). With kernels wider than five (AVX2:
// three) the columns go through a row of vectors in the first-level cache; taps that are far apart are gathered one by
// one. Bound by: FMA throughput and the permutations, one for each column and block; without a permutation (depthwise
// transposed) by writing the output.
#pragma once

#include <bit>

#include "kernels/cpu/conv_grouped/conv_grouped_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime.
GroupedGeometry grouped_geometry_at_run_time(const GroupedPacking& packing, bool is_transposed, const ConvSizes& sizes);

template <ConvShape shape, class Input, class Output, class Epilogue, bool is_transposed>
class GroupedConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(grouped_supports(shape, lanes), "groups of many channels");

  static KernelWork work(const ConvSizes& sizes) {
    return grouped_geometry_at_run_time(packing, is_transposed, sizes).work;
  }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    const Axes& size = arguments.sizes.output;
    const GroupedGeometry geometry = grouped_geometry_at_run_time(packing, is_transposed, arguments.sizes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t band = task % geometry.bands;
      const int64_t range = task / geometry.bands % geometry.ranges;
      const int64_t block = task / geometry.bands / geometry.ranges % packing.blocks();
      const int64_t batch = task / geometry.bands / geometry.ranges / packing.blocks();
      const int64_t d_end = smaller((range + 1) * geometry.range_planes, size.d);
      const int64_t h_end = smaller((band + 1) * geometry.band_rows, size.h);
      for (int64_t d = range * geometry.range_planes; d < d_end; ++d)
        for (int64_t h = band * geometry.band_rows; h < h_end; ++h)
          run_row(arguments, epilogue, Position{batch, block, d, h, 0, 0});
    }
  }

 private:
  static constexpr GroupedPacking packing{shape, lanes};
  static constexpr GroupedAxis depth{shape.kernel.d, shape.stride.d, shape.dilation.d, is_transposed},
      height{shape.kernel.h, shape.stride.h, shape.dilation.h, is_transposed},
      width{shape.kernel.w, shape.stride.w, shape.dilation.w, is_transposed};
  static constexpr int64_t inputs = packing.inputs(), most_sources = packing.most_sources();
  // Whether each lane reads the same lane of the input; whether all lanes of a block read the same.
  static constexpr bool is_depthwise = inputs == 1 && shape.group_output_channels() == 1;
  static constexpr bool is_one_group = shape.group_output_channels() % lanes == 0;

  // Outputs of a register tile. With several blocks to gather from, what chooses the lanes takes registers as well.
  static constexpr bool gathers_from_one = is_depthwise || is_one_group || most_sources == 1;
  static constexpr int64_t most_outputs = target_unit.has_many_registers() ? (most_sources <= 2 ? 16 : 8)
                                          : gathers_from_one               ? 8
                                          : most_sources <= 2              ? 4
                                                                           : 2;
  // Columns that so many taps of one output reach over, and those that a tile reads.
  static constexpr int64_t tap_distance = is_transposed ? -width.input_step() : width.input_step();
  template <int64_t outputs, int64_t taps = width.most_taps()>
  static constexpr int64_t columns = (outputs - 1) * width.output_step() + (taps - 1) * tap_distance + 1;
  // Whether the sums, the taps of a row and a column fit the registers; and whether all columns of a tile, with those
  // between taps that are far apart, are few enough to be written out.
  static constexpr int64_t most_kept_taps = target_unit.has_many_registers() || is_depthwise ? 5 : 3;
  static constexpr bool has_near_taps =
      columns<most_outputs> <= (width.most_taps() + width.output_step()) * most_outputs;
  static constexpr bool keeps_taps = width.most_taps() <= most_kept_taps && has_near_taps;
  // Columns at each end of a tile that may lie outside of the row.
  static constexpr int64_t edge_columns = ((width.most_taps() - 1) * tap_distance + 1) / 2;
  static constexpr int64_t any_column = -1;

  // The data that the tiles of a row of outputs share.
  struct Row {
    Position first;
    GroupedTaps d, h, w;              // of w all taps of the phase's first output
    vec_mask first_inputs;            // of each lane's group
    int64_t first_input, last_input;  // of the first and the last lane's group
    const Input* image;               // at the first block
    const float* weights;             // of the block
  };

  static void run_row(const Arguments& arguments, const Epilogue& epilogue, const Position& first) {
    const ConvSizes& sizes = arguments.sizes;
    const BlockedView& view = arguments.output_view;
    Row row;
    row.first = first;
    row.d = depth.taps_inside(first.d, sizes.begin_pads.d, sizes.input.d);
    row.h = height.taps_inside(first.h, sizes.begin_pads.h, sizes.input.h);
    row.first_input = packing.first_input(first.channel_block * lanes);
    row.last_input = packing.first_input(first.channel_block * lanes + lanes - 1);
    if constexpr (!is_depthwise)
      for (int lane = 0; lane < lanes; ++lane)
        row.first_inputs[lane] = static_cast<int32_t>(packing.first_input(first.channel_block * lanes + lane));
    row.image = arguments.input + first.n * arguments.input_view.batch_stride;
    row.weights = arguments.weights + first.channel_block * packing.block_size();
    row.first.offset = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                       first.d * view.d_stride + first.h * view.h_stride;
    for (int64_t phase = 0; phase < smaller(width.phases(), sizes.output.w); ++phase) {
      row.w = width.taps(phase, sizes.begin_pads.w);
      const int64_t outputs = divide_up(sizes.output.w - phase, width.phases());
      for (int64_t done = 0; done < outputs;)
        done += run_largest_tile<most_outputs>(arguments, epilogue, row, phase, done, outputs - done);
    }
  }

  // Computes outputs of a row's phase from number `done` on, with so many left; returns how many.
  template <int64_t outputs>
  static int64_t run_largest_tile(const Arguments& arguments, const Epilogue& epilogue, const Row& row, int64_t phase,
                                  int64_t done, int64_t left) {
    if constexpr (outputs > 1)
      if (left < outputs) return run_largest_tile<outputs / 2>(arguments, epilogue, row, phase, done, left);
    // All columns of the tile, whatever taps the phase has.
    const int64_t column = row.w.input + done * width.output_step();
    const int64_t first = is_transposed ? column - (width.most_taps() - 1) * tap_distance : column;
    constexpr int64_t edge = smaller(edge_columns, columns<outputs>);
    if (first >= -edge && first + columns<outputs> <= arguments.sizes.input.w + edge) {
      run_tile<outputs, edge>(arguments, epilogue, row, phase, done);
      return outputs;
    }
    constexpr int64_t fewer = smaller(outputs, 4);
    run_tile<fewer, any_column>(arguments, epilogue, row, phase, done);
    return fewer;
  }

  template <int64_t outputs, int64_t edge>
  [[gnu::noinline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue, const Row& row,
                                         int64_t phase, int64_t done) {
    vec sums[outputs] = {};
    if constexpr (!is_transposed || width.most_taps() == 1) {
      accumulate<outputs, edge, width.most_taps()>(arguments, row, done, sums);
    } else {
      // Residues differ by one tap.
      if (row.w.count == width.most_taps())
        accumulate<outputs, edge, width.most_taps()>(arguments, row, done, sums);
      else if (row.w.count > 0)
        accumulate<outputs, edge, width.most_taps() - 1>(arguments, row, done, sums);
    }
    vec stored[outputs];
    for (int64_t i = 0; i < outputs; ++i) stored[i] = sums[i];
    asm("" : "+m"(stored));  // the sums leave their registers here, so that the epilogue has them all
    const int64_t step = width.phases(), offset_step = step * arguments.output_view.w_step * lanes;
    Position position = row.first;
    position.w = phase + done * step;
    position.offset += position.w * arguments.output_view.w_step * lanes;
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < outputs; ++i, position.w += step, position.offset += offset_step)
      store(arguments.output + position.offset, finished(epilogue, stored[i], position));
  }

  // The channels that pad the last block are zero.
  [[gnu::always_inline]] static vec finished(const Epilogue& epilogue, vec sum, const Position& position) {
    const vec value = epilogue(sum, position);
    if constexpr (shape.output_channels % lanes == 0)
      return value;
    else
      return keep_lanes(first_lanes(shape.output_channels - position.channel_block * lanes), value);
  }

  // Adds the products of a tile whose outputs have `count` taps along the width. `edge`: columns at each end of the
  // tile that may lie outside of the row, or any_column.
  template <int64_t outputs, int64_t edge, int64_t count>
  [[gnu::always_inline]] static void accumulate(const Arguments& arguments, const Row& row, int64_t done,
                                                vec (&sums)[outputs]) {
    if (count != row.w.count) return;  // a residue without taps
    const BlockedView& view = arguments.input_view;
    const int64_t column = row.w.input + done * width.output_step() - (is_transposed ? (count - 1) * tap_distance : 0);
    for (int64_t d = 0; d < row.d.count; ++d)
#pragma clang loop unroll(disable)
      for (int64_t h = 0; h < row.h.count; ++h) {
        const int64_t kernel_row = (row.d.tap + d * row.d.tap_step) * shape.kernel.h + row.h.tap + h * row.h.tap_step;
        const Input* line = row.image + (row.d.input + d * row.d.input_step) * view.d_stride +
                            (row.h.input + h * row.h.input_step) * view.h_stride + column * lanes;
        const float* taps = row.weights + kernel_row * inputs * packing.row_size() + row.w.tap * lanes;
#pragma clang loop unroll(disable)
        for (int64_t input = 0; input < inputs; ++input, taps += packing.row_size()) {
          hide_origin(line, taps);
          const Source source(row, input, line, view.channel_block_stride, column, arguments.sizes.input.w);
          if constexpr (keeps_taps)
            multiply_columns<outputs, edge, count>(source, taps, sums);
          else if constexpr (has_near_taps)
            multiply_gathered<outputs, edge, count>(source, taps, sums);
          else
            multiply_taps<outputs, count>(TestedColumns{source}, taps, sums);
        }
      }
  }

  // Input number `input` of each lane's group, along a row of the input from `column` on.
  struct Source {
    vec_mask order;   // the lane that holds it, plus a multiple of `lanes`
    vec_mask blocks;  // in this block, counted from that of `first`
    const Input* first;
    int64_t block_stride, count, column, width;

    [[gnu::always_inline]] Source(const Row& row, int64_t input, const Input* line, int64_t stride,
                                  int64_t first_column, int64_t columns_of_row)
        : block_stride(stride), column(first_column), width(columns_of_row) {
      const int64_t channel = row.first_input + input, block = channel / lanes;
      first = line + block * stride + (is_one_group ? channel % lanes : 0);
      count = (row.last_input + input) / lanes + 1 - block;
      if constexpr (!is_depthwise && !is_one_group) {
        const vec_mask* first_inputs = &row.first_inputs;
        hide_origin(first_inputs, line);  // else they would be kept, in a register or on the stack
        const vec_mask lane_of_input = *first_inputs + static_cast<int32_t>(input - block * lanes);
        order = lane_of_input;  // a permutation looks at the lowest bits
        blocks = lane_of_input >> std::countr_zero(static_cast<unsigned>(lanes));
      }
    }

    // The column i further; with `is_tested` it may lie outside of the row and is zero there.
    template <bool is_tested>
    [[gnu::always_inline]] vec at(int64_t i) const {
      if (is_tested && (column + i < 0 || column + i >= width)) return splat(0.0f);
      const Input* source = first + i * lanes;
      if constexpr (is_one_group)
        return load_splat(source);
      else if constexpr (is_depthwise)
        return load(source);
      else
        return gathered(source);
    }

    [[gnu::always_inline]] vec gathered(const Input* source) const {
      vec value = permute(load(source), order);
      if constexpr (packing.has_few_sources()) {
        // A block that no lane wants is loaded from one that is there.
#pragma clang loop unroll(full)
        for (int64_t i = 1; i < most_sources; ++i) value = with_block(i, smaller(i, count - 1), source, value);
      } else {
#pragma clang loop unroll(disable)
        for (int64_t i = 1; i < count; ++i) value = with_block(i, i, source, value);
      }
      return value;
    }

    // The lanes of a block, which is loaded from another one if no lane wants it.
    [[gnu::always_inline]] vec with_block(int64_t block, int64_t loaded, const Input* source, vec value) const {
      return select(blocks == static_cast<int32_t>(block), permute(load(source + loaded * block_stride), order), value);
    }
  };

  // How far after the tile's first column lies what tap `tap` of its first output reads.
  static constexpr int64_t column_of_tap(int64_t tap, int64_t count) {
    return (is_transposed ? count - 1 - tap : tap) * tap_distance;
  }

  // Every column is gathered once and multiplied with each tap that meets an output of the tile in it.
  template <int64_t outputs, int64_t edge, int64_t count>
  [[gnu::always_inline]] static void multiply_columns(const Source& source, const float* taps, vec (&sums)[outputs]) {
    vec tap[count];
#pragma clang loop unroll(full)
    for (int64_t k = 0; k < count; ++k) tap[k] = load(taps + k * width.tap_step() * lanes);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < columns<outputs, count>; ++i) {
      vec element;
      bool is_loaded = false;
#pragma clang loop unroll(full)
      for (int64_t k = 0; k < count; ++k) {
        const int64_t distance = i - column_of_tap(k, count);
        if (distance < 0 || distance % width.output_step() != 0 || distance / width.output_step() >= outputs) continue;
        if (!is_loaded) {
          if (edge == any_column || i < edge || i >= columns<outputs, count> - edge)
            element = source.template at<true>(i);
          else
            element = source.template at<false>(i);
        }
        is_loaded = true;
        vec& sum = sums[distance / width.output_step()];
        sum = fma(element, tap[k], sum);
      }
    }
  }

  // The columns are gathered into a row of vectors first.
  template <int64_t outputs, int64_t edge, int64_t count>
  [[gnu::always_inline]] static void multiply_gathered(const Source& source, const float* taps, vec (&sums)[outputs]) {
    alignas(64) float gathered[columns<outputs, count> * lanes];
#pragma clang loop unroll_count(4)
    for (int64_t i = 0; i < columns<outputs, count>; ++i) store(gathered + i * lanes, source.template at<true>(i));
    multiply_taps<outputs, count>(Vectors{gathered}, taps, sums);
  }

  struct TestedColumns {
    const Source& source;
    [[gnu::always_inline]] vec operator[](int64_t i) const { return source.template at<true>(i); }
  };
  struct Vectors {
    const float* first;
    [[gnu::always_inline]] vec operator[](int64_t i) const { return load(first + i * lanes); }
  };

  template <int64_t outputs, int64_t count, class Elements>
  [[gnu::always_inline]] static void multiply_taps(const Elements& elements, const float* taps, vec (&sums)[outputs]) {
#pragma clang loop unroll(disable)
    for (int64_t k = 0; k < count; ++k, taps += width.tap_step() * lanes) {
      const vec tap = load(taps);
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < outputs; ++i)
        sums[i] = fma(elements[column_of_tap(k, count) + i * width.output_step()], tap, sums[i]);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
