// Convolution with few input channels from a planar NCDHW tensor to a planar one, where Winograd's algorithm saves
// products: stride 1 along the width, 1 or 2 along the depth and the height.
//
// Problem: as in conv_stem_winograd.h, whose output would have to be brought to rows, and whose lanes are the output
// channels: there a multiply-add takes a broadcast element of the input or a vector of weights from memory, and with
// few channels the transform of the input, which they share, shows. Method: the same products, but with neighbours
// along the width in the lanes, as the transform has them already, and one weight of each output channel broadcast.
// A register tile is two or three vectors of a row by some output channels at two points of the height at once, with
// fewer loads than multiply-adds. Sums for the points of the depth are added up in scratch, in the first-level cache;
// with the last point a light epilogue has them in registers.
//
// Limits: one group, stride 1 along the width, dilation 1 along an axis in pairs. What is not finite in the end is
// summed again by the definition. Bound by: FMA throughput, of which the 9x9x1 layer of 16 channels has half of its
// time (the rest are the input's transform, a sixth, and what a register tile costs before and after its products);
// with three taps by the latter. A row's last vector may be partly empty. Other engines' kernels for it are direct,
// which cannot pass the peak; this one reaches 1.1 of it there.
#pragma once

#include "codegen/cpu/kernels/conv_planar_winograd_geometry.h"
#include "codegen/cpu/kernels/conv_stem_winograd_input.h"
#include "codegen/cpu/kernels/light_epilogue.h"
#include "codegen/cpu/kernels/planar_position.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime (runtime/kernels/instances.cpp), since a model of one convolution shows its time.
PlanarWinogradGeometry planar_winograd_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes);

// A vector of outputs by the definition: a NaN or an infinity reaches all outputs of a tile, where a direct sum gives
// it only to those that read it, and what is near the largest number overflows in the transforms. `image` is one
// element of the batch.
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
      // Where there is no element none is multiplied: a weight may be infinite.
      const vec_mask is_inside = first_lanes(end) & ~first_lanes(begin);
      const vec weight = keep_lanes(is_inside, load_splat(weights + packing.plain(output_channel, channel, tap)));
      sum = fma(load_between(elements, begin, end), weight, sum);
    }
  return sum;
}

extern template vec planar_winograd_sum_directly<float>(const StemWinogradPacking&, const ConvSizes&,
                                                        const BlockedView&, const float*, const float*, int64_t,
                                                        const Axes&);

// `spatial_axes`: of the tensors, whose axes the epilogue's position counts from the last. `row_width`: of the output,
// where it is known, so that no other register tiles are compiled than it has; else 0.
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
    const auto floats = static_cast<float*>(scratch);
    InputTile input(geometry.input, arguments.sizes, floats);
    const int64_t vectors = divide_up(arguments.sizes.output.w, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      input.open_band(arguments, task);
      for (int64_t tile = input.first_tile; tile < input.last_tile; ++tile) {
        input.open_tile(tile);
        for (int64_t first = 0; first < vectors; first += geometry.segment_vectors)
          for (int64_t chunk = 0; chunk < packing.chunks(); ++chunk)
            run_segment(arguments, epilogue, input,
                        {chunk, first * lanes, smaller(geometry.segment_vectors, vectors - first) * lanes,
                         floats + geometry.output_offset});
      }
    }
  }

 private:
  static constexpr PlanarWinogradTile register_tile = planar_winograd_tile(shape.output_channels, lanes);
  static constexpr StemWinogradPacking packing = planar_winograd_packing(shape, lanes);
  static constexpr StemWinogradAxis depth = packing.depth(), height = packing.height();
  static constexpr int channels = register_tile.channels;
  static constexpr int64_t depth_points = depth.points(), depth_outputs = depth.outputs(),
                           height_outputs = height.outputs(), chunk_stride = packing.chunk_offset(1);
  static constexpr bool has_tile(int64_t vectors) { return planar_winograd_has_tile(shape, row_width, vectors, lanes); }
  // The vectors of a row's register tiles where all have as many; else 0.
  static constexpr int64_t equal_tiles = [] {
    int64_t result = 0;
    for (int64_t vectors = 1; vectors <= register_tile.vectors; ++vectors)
      if (has_tile(vectors)) result = result == 0 ? vectors : -1;
    return larger(result, 0);
  }();
  using InputTile = StemWinogradInput<shape, Input>;
  // A processor follows writes to about so many pages and fetches what comes next there.
  static constexpr int64_t followed_pages = 32;
  static constexpr bool fetches_outputs = shape.output_channels * depth_outputs > followed_pages;

  // Columns [column, column + width) of a tile's rows, whole vectors, for a chunk of output channels.
  struct Segment {
    int64_t chunk, column, width;
    float* sums;

    float* row(int64_t plane, int64_t h) const { return sums + (plane * height_outputs + h) * channels * width; }
  };

  static void run_segment(const Arguments& arguments, const Epilogue& epilogue, const InputTile& input,
                          const Segment& segment) {
    const float* weights = arguments.weights + segment.chunk * chunk_stride;
    for (int64_t step = 0; step < depth_points; ++step) {
      const int64_t point = depth.is_paired() ? InputTile::depth_order[step] : 0;
      const int64_t next_plane = depth.is_paired() ? step - 1 : 0;
      if (fetches_outputs && next_plane >= 0 && next_plane < depth_outputs)
        prefetch_outputs(arguments, input, segment, next_plane);
      // The last points give the last part of the first and of the second output of the depth.
      const int64_t plane = depth.is_paired() ? step - 2 : 0;
      const bool finishes = plane >= 0 && input.d + plane < arguments.sizes.output.d;
      const int64_t vectors = segment.width / lanes;
      int64_t tiles = divide_up(vectors, register_tile.vectors);
      for (int64_t from = 0; from < vectors; --tiles) {
        const int64_t count = equal_tiles != 0 ? equal_tiles : divide_up(vectors - from, tiles);
        const Tile tile{arguments, epilogue, input, segment, point, finishes ? plane : -1, from * lanes};
        run_tile_of<register_tile.vectors>(tile, weights, count);
        from += count;
      }
    }
  }

  // A register tile at one point of the depth: columns from `from` on of the segment. With that point a plane may be
  // finished; else `plane` is negative.
  struct Tile {
    const Arguments& arguments;
    const Epilogue& epilogue;
    const InputTile& input;
    const Segment& segment;
    int64_t point, plane, from;

    int64_t first_channel() const { return segment.chunk * channels; }
    int64_t column() const { return segment.column + from; }
    float* sums(int64_t of_plane, int64_t h) const { return segment.row(of_plane, h) + from; }
    // In the output, of the first channel.
    Axes place() const { return {input.d + plane, input.h, column()}; }
    int64_t offset() const {
      const BlockedView& view = arguments.output_view;
      return input.batch * view.batch_stride + first_channel() * view.channel_block_stride + place().d * view.d_stride +
             place().h * view.h_stride + place().w;
    }
    // Of `vectors` vectors from there on, and of the chunk's channels and the tile's rows, whether all are inside.
    bool is_inside(int64_t vectors) const {
      return first_channel() + channels <= shape.output_channels &&
             input.h + height_outputs <= arguments.sizes.output.h &&
             column() + vectors * lanes <= arguments.sizes.output.w;
    }
  };

  // Runs the instance for a number of vectors.
  template <int vectors>
  [[gnu::always_inline]] static void run_tile_of(const Tile& tile, const float* weights, int64_t count) {
    if constexpr (has_tile(vectors))
      if (count == vectors) return run_tile<vectors>(tile, weights);
    if constexpr (vectors > 1) run_tile_of<vectors - 1>(tile, weights, count);
  }

  // Adds what one point of the depth gives to the outputs of a tile.
  template <int vectors>
  [[gnu::noinline]] static void run_tile(const Tile& tile, const float* weights) {
    vec sums[2][channels][vectors];
#pragma clang loop unroll(full)
    for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sums[0][o][v] = sums[1][o][v] = splat(0.0f);
    if constexpr (height.is_paired()) {
      add_group<false, vectors>(tile.input, weights, tile.point, tile.column(), sums);
#pragma clang loop unroll(full)
      for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          const vec a = sums[0][o][v];
          sums[0][o][v] = a + sums[1][o][v];
          sums[1][o][v] = a - sums[1][o][v];
        }
    }
    add_group<true, vectors>(tile.input, weights, tile.point, tile.column(), sums);
    if constexpr (is_light_epilogue<Epilogue>)
      if (tile.plane >= 0 && tile.is_inside(vectors)) return store_tile<vectors>(tile, sums);
    constexpr int64_t last = depth.outputs() - 1;
#pragma clang loop unroll(full)
    for (int h = 0; h < height_outputs; ++h)
      add_outputs<vectors>(tile.sums(0, h), tile.sums(last, h), tile.segment.width, tile.point, sums[h]);
    if (tile.plane >= 0) finish(tile, vectors);
  }

  // The products of points 1 and 2 of the height, or of 0 and 3, with a point of the depth.
  template <bool is_outer_group, int vectors>
  [[gnu::always_inline]] static void add_group(const InputTile& input, const float* weights, int64_t point,
                                               int64_t column, vec (&sums)[2][channels][vectors]) {
    const int64_t stride = input.row_stride();
    for_each_stem_product<packing, is_outer_group, channels>(
        input, weights, point, [&]<int points>(const float* row, const float* tap) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
          for (int p = 0; p < points; ++p) {
            vec elements[vectors];
#pragma clang loop unroll(full)
            for (int v = 0; v < vectors; ++v) elements[v] = load(row + p * stride + column + v * lanes);
#pragma clang loop unroll(full)
            for (int o = 0; o < channels; ++o) {
              const vec weight = load_splat(tap + p * channels + o);
#pragma clang loop unroll(full)
              for (int v = 0; v < vectors; ++v) sums[p][o][v] = fma(weight, elements[v], sums[p][o][v]);
            }
          }
        });
  }

  // Adds what a point of the depth gives to y0 and y1, `first` and `second` of the first channel.
  template <int vectors>
  [[gnu::always_inline]] static void add_outputs(float* first, float* second, int64_t channel_stride, int64_t point,
                                                 const vec (&sums)[channels][vectors]) {
    add_depth_point<depth.is_paired()>(first, second, point, [&](const auto& visit) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
      for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) visit(o * channel_stride + v * lanes, sums[o][v]);
    });
  }

  // ---- outputs

  // Brings what finish() will write of a plane into the cache: where the processor does not, finish() waits for each
  // line.
  static void prefetch_outputs(const Arguments& arguments, const InputTile& input, const Segment& segment,
                               int64_t plane) {
    constexpr int64_t line = 64 / static_cast<int64_t>(sizeof(Output));
    const BlockedView& view = arguments.output_view;
    const int64_t first_channel = segment.chunk * channels, rest = shape.output_channels - first_channel;
    const int64_t end = smaller(segment.width, arguments.sizes.output.w - segment.column);
    if (input.d + plane >= arguments.sizes.output.d) return;
    const Output* row = arguments.output + input.batch * view.batch_stride + first_channel * view.channel_block_stride +
                        (input.d + plane) * view.d_stride + input.h * view.h_stride + segment.column;
    for (int64_t h = input.h; h < smaller(input.h + height_outputs, arguments.sizes.output.h);
         ++h, row += view.h_stride)
#pragma clang loop unroll(disable)
      for (int64_t w = 0; w < end; w += line)
#pragma clang loop unroll(full)
        for (int o = 0; o < channels; ++o)
          __builtin_prefetch(row + w + smaller(o, rest - 1) * view.channel_block_stride, 1);
  }

  // Stores a tile from its registers, unless not all is finite: all that is of a channel only once the epilogue has had
  // it, since what it reads would be loaded anew after each store, which might have changed it.
  template <int vectors>
  [[gnu::always_inline]] static void store_tile(const Tile& tile, vec (&sums)[2][channels][vectors]) {
    const int64_t channel_stride = tile.arguments.output_view.channel_block_stride,
                  row_stride = tile.arguments.output_view.h_stride, offset = tile.offset();
    const auto for_each_sum = [&](const auto& visit) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int o = 0; o < channels; ++o)
#pragma clang loop unroll(full)
          for (int v = 0; v < vectors; ++v)
            visit(tile.sums(tile.plane, h) + o * tile.segment.width + v * lanes, sums[h][o][v]);
    };
    vec zero_or_nan = splat(0.0f);
    for_each_sum([&](const float* so_far, vec& sum) __attribute__((always_inline)) {
      if constexpr (depth.is_paired()) sum = sum + load(so_far);
      zero_or_nan = fma(sum, splat(0.0f), zero_or_nan);
    });
    if (!all_finite(zero_or_nan)) [[unlikely]] {
      for_each_sum([](float* to, vec sum) __attribute__((always_inline)) { store(to, sum); });
      return finish(tile, vectors);
    }
#pragma clang loop unroll(full)
    for (int o = 0; o < channels; ++o) {
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) {
          Axes at = tile.place();
          at.h += h;
          at.w += v * lanes;
          const int64_t to = offset + o * channel_stride + h * row_stride + v * lanes;
          sums[h][o][v] = tile.epilogue(
              sums[h][o][v], planar_position<spatial_axes>(tile.input.batch, tile.first_channel() + o, at, to, lanes));
        }
#pragma clang loop unroll(full)
      for (int h = 0; h < height_outputs; ++h)
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v)
          store(tile.arguments.output + offset + o * channel_stride + h * row_stride + v * lanes, sums[h][o][v]);
    }
  }

  // Applies the epilogue to a tile's sums in scratch and stores them.
  [[gnu::noinline]] static void finish(const Tile& tile, int64_t vectors) {
    const Arguments& arguments = tile.arguments;
    const BlockedView& view = arguments.output_view;
    const int64_t rows = smaller(height_outputs, arguments.sizes.output.h - tile.input.h);
    const int64_t channel_end = smaller(tile.first_channel() + channels, shape.output_channels);
    const int64_t columns = smaller(vectors * lanes, arguments.sizes.output.w - tile.column());
#pragma clang loop unroll(disable)
    for (int64_t row = 0; row < rows; ++row) {
      const float* sums = tile.sums(tile.plane, row);
      Axes at = tile.place();
      at.h += row;
      int64_t offset = tile.offset() + row * view.h_stride;
#pragma clang loop unroll(disable)
      for (int64_t channel = tile.first_channel(); channel < channel_end; ++channel) {
#pragma clang loop unroll(disable)
        for (int64_t w = 0; w < columns; w += lanes) {
          at.w = tile.column() + w;
          const MatrixPosition position =
              planar_position<spatial_axes>(tile.input.batch, channel, at, offset + w, smaller(lanes, columns - w));
          vec sum = load(sums + w);
          if (!all_finite(sum)) [[unlikely]]
            sum = planar_winograd_sum_directly(packing, arguments.sizes, arguments.input_view,
                                               arguments.input + tile.input.batch * arguments.input_view.batch_stride,
                                               arguments.weights, channel, at);
          const vec value = tile.epilogue(sum, position);
          if (position.count == lanes) [[likely]]
            store(arguments.output + position.offset, value);
          else
            store_partial(arguments.output + position.offset, value, position.count);
        }
        sums += tile.segment.width;
        offset += view.channel_block_stride;
      }
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
