// Winograd convolution NCHW to NCHW with few input channels: stride 1 along the width, 1 or 2 along depth and height.
//
// Problem: as in conv_stem_winograd.h, but with an NCHW output. That kernel's output would need a reorder, and its
// lanes are output channels. Each FMA takes a broadcast input element or a weight vector from memory, and with few
// output channels to share it the input transform is a large part of the time. Method: the same products with
// neighbours along the width in the lanes, as the transform already has them, and one broadcast weight of each output
// channel. A register tile is two to four vectors of a row by some output channels, at two points of the height at
// once, with fewer loads than FMAs. It handles one point of the depth after another and accumulates their sums on the
// stack; at the last points a light epilogue gets the sums in registers.
//
// Limits: one group, stride 1 along the width, dilation 1 along an axis in pairs. An output that ends as NaN or
// infinity is summed again by the definition. Bound by: FMA throughput, which is half of the time of a 9x9x1 layer of
// 16 channels (a sixth is the input transform, the rest what a register tile costs before and after its products). With
// three taps it is bound by that cost. A row's last vector may be partly empty. Kernels of other engines for that layer
// are direct and cannot pass the peak; this one reaches 1.1 of it, with AVX2 1.0.
#pragma once

#include "kernels/cpu/conv/planar_position.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_input.h"
#include "kernels/cpu/vector/light_epilogue.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime (conv_planar_winograd_instances.cpp), since a model of one convolution shows its time.
PlanarWinogradGeometry planar_winograd_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes);

// One vector of outputs by the definition. In a Winograd tile a NaN or infinity reaches all outputs; a direct sum gives
// it only to those that read it, and values near FLT_MAX overflow in the transforms. `image` is one element of the
// batch.
template <class Input>
[[gnu::noinline, gnu::cold]] vec planar_winograd_sum_directly(const StemWinogradPacking& packing,
                                                              const ConvSizes& sizes, const BlockedView& view,
                                                              const Input* image, const float* weights,
                                                              int64_t output_channel, const Axes& at) {
  const ConvShape& shape = packing.shape;
  vec sum = splat(0.0f);
  for (int64_t channel = 0; channel < shape.input_channels; ++channel)
    for (int64_t tap = 0; tap < shape.kernel.product(); ++tap) {
      const int64_t kd = tap / shape.kernel.w / shape.kernel.h, kh = tap / shape.kernel.w % shape.kernel.h,
                    kw = tap % shape.kernel.w;
      const int64_t d = at.d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
      const int64_t h = at.h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
      const int64_t w = at.w - sizes.begin_pads.w + kw * shape.dilation.w;
      if (d < 0 || d >= sizes.input.d || h < 0 || h >= sizes.input.h) continue;
      const int64_t begin = larger(0, smaller(lanes, -w)), end = larger(begin, smaller(lanes, sizes.input.w - w));
      const Input* elements = image + channel * view.channel_block_stride + d * view.d_stride + h * view.h_stride + w;
      // An element that does not exist is not multiplied: a weight may be infinite.
      const vec_mask is_inside = first_lanes(end) & ~first_lanes(begin);
      const vec weight = keep_lanes(is_inside, load_splat(weights + packing.plain(output_channel, channel, tap)));
      sum = fma(load_between(elements, begin, end), weight, sum);
    }
  return sum;
}

extern template vec planar_winograd_sum_directly<float>(const StemWinogradPacking&, const ConvSizes&,
                                                        const BlockedView&, const float*, const float*, int64_t,
                                                        const Axes&);

// `spatial_axes`: of the tensors; the epilogue's position counts these axes from the last. `row_width`: the output's
// width if it is static, so that only the register tiles it needs are compiled; else 0.
template <ConvShape shape, class Input, class Output, class Epilogue, int spatial_axes, int64_t row_width = 0>
class PlanarWinogradConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(planar_winograd_supports(shape), "a convolution that saves no products, or with a stride of the width");

  static KernelWork work(const ConvSizes& sizes) { return planar_winograd_geometry_at_run_time(shape, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const PlanarWinogradGeometry geometry = planar_winograd_geometry_at_run_time(shape, arguments.sizes);
    InputTile input(geometry.input, arguments.sizes, static_cast<float*>(scratch));
    const int64_t vectors = divide_up(arguments.sizes.output.w, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      input.open_band(arguments.input, arguments.input_view, task);
      for (int64_t tile = input.first_tile; tile < input.last_tile; ++tile) {
        input.open_tile(tile);
        for (int64_t first = 0; first < vectors; first += geometry.segment_vectors)
          run_segment({arguments, epilogue, input}, first, smaller(first + geometry.segment_vectors, vectors));
      }
    }
  }

 private:
  static constexpr PlanarWinogradTile register_tile = planar_winograd_tile(shape.output_channels, lanes);
  static constexpr StemWinogradPacking packing = planar_winograd_packing(shape, lanes);
  static constexpr StemWinogradAxis depth = packing.depth(), height = packing.height();
  static constexpr int chunk_channels = register_tile.channels;
  // Channels that fill no chunk have a register tile of their own.
  static constexpr int last_channels = static_cast<int>(shape.output_channels % chunk_channels);
  static constexpr int64_t depth_points = depth.points(), depth_outputs = depth.outputs(),
                           height_outputs = height.outputs(), chunk_stride = packing.chunk_offset(1);
  using InputTile = StemWinogradInput<shape, Input>;
  // The number of pages that a processor's prefetcher follows writes to.
  static constexpr int64_t followed_pages = 32;
  static constexpr bool fetches_outputs = shape.output_channels * depth_outputs > followed_pages;

  // A tile of the input, transformed, and what its outputs are made with.
  struct Task {
    const Arguments& arguments;
    const Epilogue& epilogue;
    const InputTile& input;
  };

  // Vectors [begin, end) of a task's rows, for all output channels.
  static void run_segment(const Task& task, int64_t begin, int64_t end) {
    constexpr int64_t whole_chunks = shape.output_channels / chunk_channels;
    if (fetches_outputs) prefetch_outputs(task, 0, begin, register_tile.vectors);
    for (int64_t chunk = 0; chunk < whole_chunks; ++chunk) run_chunk<register_tile>(task, chunk, begin, end);
    if constexpr (last_channels > 0)
      run_chunk<planar_winograd_tile(last_channels, lanes)>(task, whole_chunks, begin, end);
  }

  template <PlanarWinogradTile of_chunk>
  static void run_chunk(const Task& task, int64_t chunk, int64_t begin, int64_t end) {
    constexpr int channels = of_chunk.channels, vectors = of_chunk.vectors;
    const float* const weights = task.arguments.weights + chunk * chunk_stride;
    constexpr int64_t equal_tiles = planar_winograd_equal_tiles(shape, row_width, vectors, lanes);
    int64_t tiles = divide_up(end - begin, vectors);
    for (int64_t from = begin; from < end; --tiles) {
      const int64_t count = equal_tiles != 0 ? equal_tiles : divide_up(end - from, tiles);
      if (fetches_outputs) {
        const bool is_last = from + count == end;
        prefetch_outputs(task, chunk + is_last, is_last ? begin : from + count, vectors);
      }
      run_tile_of<channels, vectors, vectors>({task, chunk * chunk_channels, from * lanes}, weights, count);
      from += count;
    }
  }

  // A register tile: columns from `column` on.
  struct Tile {
    const Task& task;
    int64_t first_channel, column;

    // The output position of the first channel.
    Axes place(int64_t plane) const { return {task.input.d + plane, task.input.h, column}; }
    int64_t offset(int64_t plane) const {
      const BlockedView& view = task.arguments.output_view;
      const Axes at = place(plane);
      return task.input.batch * view.batch_stride + first_channel * view.channel_block_stride + at.d * view.d_stride +
             at.h * view.h_stride + at.w;
    }
    // Whether `vectors` vectors from there on, in all rows of the tile, are inside the output.
    bool is_inside(int64_t vectors) const {
      const Axes& size = task.arguments.sizes.output;
      return task.input.h + height_outputs <= size.h && column + vectors * lanes <= size.w;
    }
  };

  // Runs the instance for a number of vectors; a tile has `most`.
  template <int channels, int most, int vectors>
  [[gnu::always_inline]] static void run_tile_of(const Tile& tile, const float* weights, int64_t count) {
    if constexpr (planar_winograd_has_tile(shape, row_width, most, vectors, lanes))
      if (count == vectors) return run_tile<channels, vectors>(tile, weights);
    if constexpr (vectors > 1) run_tile_of<channels, most, vectors - 1>(tile, weights, count);
  }

  template <int channels, int vectors>
  [[gnu::noinline]] static void run_tile(const Tile& tile, const float* weights) {
    const bool is_inside = tile.is_inside(vectors);
    // The sums over the points of the depth so far.
    alignas(64) float partial_sums[depth_outputs][height_outputs][channels * vectors * lanes];
#pragma clang loop unroll(disable)
    for (int64_t step = 0; step < depth_points; ++step) {
      // The last points give the last part of the first and of the second plane of outputs.
      const int64_t plane = depth.is_paired() ? step - 2 : 0;
      if (tile.task.input.d + plane >= tile.task.arguments.sizes.output.d) break;
      const int64_t point = depth.is_paired() ? InputTile::depth_order[step] : 0;
      vec sums[2][channels][vectors];
      sum_products<channels, vectors>(tile, weights, point, sums);
      if constexpr (is_light_epilogue<Epilogue>)
        if (plane >= 0 && is_inside && store_plane<channels, vectors>(tile, plane, partial_sums[plane], sums)) continue;
      add_outputs<channels, vectors>(partial_sums[0][0], partial_sums[depth_outputs - 1][0], point, sums);
      if (plane >= 0) finish(tile, plane, partial_sums[plane][0], channels, vectors * lanes);
    }
  }

  // The products of one point of the depth for the rows of outputs.
  template <int channels, int vectors>
  [[gnu::always_inline]] static void sum_products(const Tile& tile, const float* weights, int64_t point,
                                                  vec (&sums)[2][channels][vectors]) {
#pragma clang loop unroll(full)
    for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sums[0][o][v] = sums[1][o][v] = splat(0.0f);
    if constexpr (height.is_paired()) {
      add_group<false, channels, vectors>(tile.task.input, weights, point, tile.column, sums);
#pragma clang loop unroll(full)
      for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          const vec a = sums[0][o][v];
          sums[0][o][v] = a + sums[1][o][v];
          sums[1][o][v] = a - sums[1][o][v];
        }
    }
    add_group<true, channels, vectors>(tile.task.input, weights, point, tile.column, sums);
  }

  // The products of points 1 and 2 of the height, or of 0 and 3, with a point of the depth.
  template <bool is_outer_group, int channels, int vectors>
  [[gnu::always_inline]] static void add_group(const InputTile& input, const float* weights, int64_t point,
                                               int64_t column, vec (&sums)[2][channels][vectors]) {
    const int64_t stride = input.row_stride();
    for_each_stem_product<packing, is_outer_group, chunk_channels>(
        input, weights, point, [&]<int points>(const float* row, const float* tap) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
          for (int p = 0; p < points; ++p) {
            vec elements[vectors];
#pragma clang loop unroll(full)
            for (int v = 0; v < vectors; ++v) elements[v] = load(row + p * stride + column + v * lanes);
#pragma clang loop unroll(full)
            for (int o = 0; o < channels; ++o) {
              const vec weight = load_splat(tap + p * chunk_channels + o);
#pragma clang loop unroll(full)
              for (int v = 0; v < vectors; ++v) sums[p][o][v] = fma(weight, elements[v], sums[p][o][v]);
            }
          }
        });
  }

  // Adds what a point of the depth gives to y0 and y1, `first` and `second`: [row][channel][vector].
  template <int channels, int vectors>
  [[gnu::always_inline]] static void add_outputs(float* first, float* second, int64_t point,
                                                 const vec (&sums)[2][channels][vectors]) {
    add_depth_point<depth.is_paired()>(first, second, point, [&](const auto& visit) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
          for (int v = 0; v < vectors; ++v) visit(((h * channels + o) * vectors + v) * lanes, sums[h][o][v]);
    });
  }

  // ---- outputs

  // Prefetches the output lines that a tile of `vectors` vectors from `vector` on will write, since the processor does
  // not: otherwise the stores wait for each line.
  static void prefetch_outputs(const Task& task, int64_t chunk, int64_t vector, int64_t vectors) {
    const Arguments& arguments = task.arguments;
    const InputTile& input = task.input;
    constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(Output));
    const BlockedView& view = arguments.output_view;
    const Axes& size = arguments.sizes.output;
    const int64_t first_channel = chunk * chunk_channels, column = vector * lanes;
    const int64_t rest = shape.output_channels - first_channel;
    if (rest <= 0) return;
    const int64_t width = smaller(vectors * lanes, size.w - column);
    for (int64_t d = input.d; d < smaller(input.d + depth_outputs, size.d); ++d)
      for (int64_t h = input.h; h < smaller(input.h + height_outputs, size.h); ++h) {
        const Output* const row = arguments.output + input.batch * view.batch_stride +
                                  first_channel * view.channel_block_stride + d * view.d_stride + h * view.h_stride +
                                  column;
#pragma clang loop unroll(disable)
        for (int64_t w = 0; w < width; w += line)
#pragma clang loop unroll(full)
          for (int o = 0; o < chunk_channels; ++o)
            __builtin_prefetch(row + w + smaller(o, rest - 1) * view.channel_block_stride, 1);
      }
  }

  // Stores a plane of a tile from registers, after adding what the earlier points gave. The epilogue is applied to all
  // vectors of a channel before the first is stored: after a store clang would reload the epilogue's operands, which
  // the store might have changed. Everything used here is a local variable for the same reason. Returns false, having
  // stored nothing, if a sum may not be finite.
  template <int channels, int vectors>
  [[gnu::always_inline]] static bool store_plane(const Tile& tile, int64_t plane,
                                                 const float (&so_far)[height_outputs][channels * vectors * lanes],
                                                 const vec (&added)[2][channels][vectors]) {
    const int64_t channel_stride = tile.task.arguments.output_view.channel_block_stride,
                  row_stride = tile.task.arguments.output_view.h_stride, offset = tile.offset(plane),
                  batch = tile.task.input.batch, first_channel = tile.first_channel;
    const Axes first = tile.place(plane);
    const Epilogue epilogue = tile.task.epilogue;
    Output* const output = tile.task.arguments.output + offset;
    vec sums[height_outputs][channels][vectors];
    vec total = splat(0.0f);  // not finite if one of them is not
#pragma clang loop unroll(full)
    for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
      for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          sums[h][o][v] = added[h][o][v];
          if constexpr (depth.is_paired()) sums[h][o][v] += load(so_far[h] + (o * vectors + v) * lanes);
          total += sums[h][o][v];
        }
    if (!all_finite(total)) [[unlikely]]
      return false;
#pragma clang loop unroll(full)
    for (int o = 0; o < channels; ++o) {
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          const Axes at{first.d, first.h + h, first.w + v * lanes};
          const int64_t to = offset + o * channel_stride + h * row_stride + v * lanes;
          sums[h][o][v] =
              epilogue(sums[h][o][v], planar_position<spatial_axes>(batch, first_channel + o, at, to, lanes));
        }
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
          store(output + o * channel_stride + h * row_stride + v * lanes, sums[h][o][v]);
    }
    return true;
  }

  // Applies the epilogue to a plane of a tile's sums [row][channel][column] and stores them.
  [[gnu::noinline]] static void finish(const Tile& tile, int64_t plane, const float* sums, int64_t channels,
                                       int64_t columns) {
    const Arguments& arguments = tile.task.arguments;
    const BlockedView& view = arguments.output_view;
    const int64_t rows = smaller(height_outputs, arguments.sizes.output.h - tile.task.input.h);
    const int64_t width = smaller(columns, arguments.sizes.output.w - tile.column);
#pragma clang loop unroll(disable)
    for (int64_t row = 0; row < rows; ++row) {
      Axes at = tile.place(plane);
      at.h += row;
      int64_t offset = tile.offset(plane) + row * view.h_stride;
#pragma clang loop unroll(disable)
      for (int64_t o = 0; o < channels; ++o, offset += view.channel_block_stride) {
        const float* const line = sums + (row * channels + o) * columns;
        const int64_t channel = tile.first_channel + o;
#pragma clang loop unroll(disable)
        for (int64_t w = 0; w < width; w += lanes) {
          at.w = tile.column + w;
          const MatrixPosition position =
              planar_position<spatial_axes>(tile.task.input.batch, channel, at, offset + w, smaller(lanes, width - w));
          vec sum = load(line + w);
          if (!all_finite(sum)) [[unlikely]]
            sum = planar_winograd_sum_directly(
                packing, arguments.sizes, arguments.input_view,
                arguments.input + tile.task.input.batch * arguments.input_view.batch_stride, arguments.weights, channel,
                at);
          const vec value = tile.task.epilogue(sum, position);
          if (position.count == lanes) [[likely]]
            store(arguments.output + position.offset, value);
          else
            store_partial(arguments.output + position.offset, value, position.count);
        }
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
