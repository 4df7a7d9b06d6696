// Winograd convolution for a network's first layer: NCHW with few input channels to NCHWc, stride 1 or 2 along depth or
// height.
//
// Problem: as in conv_stem.h, which runs at the peak, so that only fewer products help. Method: outputs come in pairs
// along depth, height or both; a long filter is cut into pieces whose products are summed before the output transform
// (conv_stem_winograd_geometry.h); the width is not transformed. Unlike in conv_winograd.h the lanes of the input
// transform are neighbours along the width, and all output channels share the transformed input: input rows become rows
// of scratch, one tile of depth and height at a time. A register tile is neighbouring voxels of a row by one or two
// blocks of output channels, at two points of the height at once. First points 1 and 2 are taken, whose sum and
// difference start the two outputs, then points 0 and 3, which are added to them. The points of the depth are
// accumulated in scratch. Pieces that read only padding are skipped.
//
// Limits: one group, dilation 1 along an axis in pairs. The transforms round once more but the sums are shorter: the
// error is that of a direct sum. An output that ends as NaN or infinity is summed again by the definition. Bound by:
// FMA throughput with many taps and channels (3x7x7 from 3 to 64 channels: 1.7 times as fast as conv_stem.h, of 2.1
// that the products allow). With 16 channels it is bound by loads, as many as FMAs, and by the transform (9x9x1: 1.2 of
// 2.25). With three taps it is bound by what a register tile costs before and after its few products.
#pragma once

#include "kernels/cpu/conv_nchw/conv_stem_winograd_input.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// Compiled with the runtime (conv_stem_winograd_instances.cpp).
StemWinogradGeometry stem_winograd_geometry_at_run_time(const StemWinogradPacking& packing, const ConvSizes& sizes);

template <ConvShape shape, class Input, class Output, class Epilogue>
class StemWinogradConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(stem_winograd_supports(shape), "a convolution without an axis that saves products");

  static KernelWork work(const ConvSizes& sizes) { return stem_winograd_geometry_at_run_time(packing, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const StemWinogradGeometry geometry = stem_winograd_geometry_at_run_time(packing, arguments.sizes);
    const auto floats = static_cast<float*>(scratch);
    InputTile input(geometry.input, arguments.sizes, floats);
    for (int64_t index = task_begin; index < task_end; ++index) {
      input.open_band(arguments.input, arguments.input_view, index);
      for (int64_t tile = input.first_tile; tile < input.last_tile; ++tile) {
        input.open_tile(tile);
        const Task task{geometry, input, floats + geometry.output_offset};
        for (int64_t chunk = 0; chunk < packing.chunks(); ++chunk) {
          if (packing.chunk_blocks(chunk) == 2) {
            if constexpr (packing.output_blocks() > 1) run_chunk<2>(arguments, epilogue, task, chunk);
          } else {
            if constexpr (packing.output_blocks() % 2 == 1) run_chunk<1>(arguments, epilogue, task, chunk);
          }
        }
      }
    }
  }

 private:
  static constexpr StemWinogradPacking packing{shape, lanes};
  static constexpr StemWinogradAxis depth = packing.depth(), height = packing.height();
  using InputTile = StemWinogradInput<shape, Input>;
  // Constants, so that none of this is computed at run time.
  static constexpr int64_t depth_points = depth.points(), depth_outputs = depth.outputs(),
                           height_outputs = height.outputs(), chunk_stride = packing.chunk_offset(1),
                           plain_weights = packing.plain_offset();
  static constexpr bool pools = requires { Epilogue::window; };  // conv_pooled.h

  struct Task {
    const StemWinogradGeometry& geometry;
    const InputTile& input;
    float* sums;

    float* outputs(int64_t plane, int64_t row) const {
      return sums + (plane * height_outputs + row) * geometry.output_stride;
    }
  };

  template <int blocks>
  static void run_chunk(const Arguments& arguments, const Epilogue& epilogue, const Task& task, int64_t chunk) {
    constexpr int most = stem_winograd_voxels(blocks, lanes), middle = stem_winograd_middle_voxels(blocks, lanes),
                  least = stem_winograd_least_voxels(blocks, lanes);
    const int64_t width = arguments.sizes.output.w;
    const float* weights = arguments.weights + chunk * chunk_stride;
    int64_t segment = task.geometry.segment_voxels;
    if constexpr (pools) segment -= segment % Epilogue::window.w;
    for (int64_t begin = 0; begin < width; begin += segment) {
      const int64_t end = smaller(begin + segment, width);
      for (int step = 0; step < depth_points; ++step) {
        const int64_t point = depth.is_paired() ? InputTile::depth_order[step] : 0;
        // The last points give the last part of the first and of the second output of the depth.
        const int64_t plane = depth.is_paired() ? step - 2 : 0;
        const bool finishes = !pools && plane >= 0 && task.input.d + plane < arguments.sizes.output.d;
        for (int64_t w = begin; w < end; w += most) {
          const int64_t to = (w - begin) * blocks * lanes, count = smaller(most, end - w);
          if (finishes) prefetch_outputs<blocks>(arguments, task, chunk, plane, w, count);
          if (count <= least)
            run_tile<least, blocks>(task, weights, point, w, to);
          else if (count <= middle)
            run_tile<middle, blocks>(task, weights, point, w, to);
          else
            run_tile<most, blocks>(task, weights, point, w, to);
          if constexpr (!pools)
            if (finishes) finish<blocks>(arguments, epilogue, task, chunk, plane, w, count, to);
        }
      }
      if constexpr (pools) pool<blocks>(arguments, epilogue, task, chunk, begin, end);
    }
  }

  // The output offset, in elements, of the voxels from `w` on of a row of the tile.
  static int64_t output_offset(const Arguments& arguments, const Task& task, int64_t chunk, int64_t plane, int64_t row,
                               int64_t w) {
    const BlockedView& view = arguments.output_view;
    return task.input.batch * view.batch_stride + 2 * chunk * view.channel_block_stride +
           (task.input.d + plane) * view.d_stride + (task.input.h + row) * view.h_stride + w * lanes;
  }

  // Prefetches the output lines that finish() will write; otherwise it would wait for each.
  template <int blocks>
  [[gnu::always_inline]] static void prefetch_outputs(const Arguments& arguments, const Task& task, int64_t chunk,
                                                      int64_t plane, int64_t w, int64_t count) {
    for (int64_t row = 0; row < height_outputs && task.input.h + row < arguments.sizes.output.h; ++row) {
      const Output* voxel = arguments.output + output_offset(arguments, task, chunk, plane, row, w);
      for (int64_t i = 0; i < count; ++i, voxel += lanes)
        for (int b = 0; b < blocks; ++b) __builtin_prefetch(voxel + b * arguments.output_view.channel_block_stride, 1);
    }
  }

  // Adds what one point of the depth gives to the outputs of a tile.
  template <int voxels, int blocks>
  [[gnu::noinline]] static void run_tile(const Task& task, const float* weights, int64_t point, int64_t w, int64_t to) {
    vec sums[2][voxels][blocks];
#pragma clang loop unroll(full)
    for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
      for (int b = 0; b < blocks; ++b) sums[0][i][b] = sums[1][i][b] = splat(0.0f);
    if constexpr (height.is_paired()) {
      add_group<false, voxels, blocks>(task, weights, point, w, sums);
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) {
          const vec a = sums[0][i][b];
          sums[0][i][b] = a + sums[1][i][b];
          sums[1][i][b] = a - sums[1][i][b];
        }
    }
    add_group<true, voxels, blocks>(task, weights, point, w, sums);
    constexpr int64_t last = depth.outputs() - 1;
    add_outputs<voxels, blocks>(task.outputs(0, 0) + to, task.outputs(last, 0) + to, point, sums[0]);
    if constexpr (height.is_paired())
      add_outputs<voxels, blocks>(task.outputs(0, 1) + to, task.outputs(last, 1) + to, point, sums[1]);
  }

  // The products of points 1 and 2 of the height, or of 0 and 3, with a point of the depth.
  template <bool is_outer_group, int voxels, int blocks>
  [[gnu::always_inline]] static void add_group(const Task& task, const float* weights, int64_t point, int64_t w,
                                               vec (&sums)[2][voxels][blocks]) {
    const int64_t stride = task.input.row_stride();
    for_each_stem_product<packing, is_outer_group, blocks * lanes>(
        task.input, weights, point, [&]<int points>(const float* row, const float* tap) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
          for (int p = 0; p < points; ++p) {
            const float* elements = row + p * stride + w * shape.stride.w;
            vec weight[blocks];
#pragma clang loop unroll(full)
            for (int b = 0; b < blocks; ++b) weight[b] = load(tap + (p * blocks + b) * lanes);
#pragma clang loop unroll(full)
            for (int i = 0; i < voxels; ++i) {
              const vec element = load_splat(elements + i * shape.stride.w);
#pragma clang loop unroll(full)
              for (int b = 0; b < blocks; ++b) sums[p][i][b] = fma(element, weight[b], sums[p][i][b]);
            }
          }
        });
  }

  // Adds what a point of the depth gives to y0 and y1, `first` and `second`.
  template <int voxels, int blocks>
  [[gnu::always_inline]] static void add_outputs(float* first, float* second, int64_t point,
                                                 const vec (&sums)[voxels][blocks]) {
    add_depth_point<depth.is_paired()>(first, second, point, [&](const auto& visit) __attribute__((always_inline)) {
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i)
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) visit((i * blocks + b) * lanes, sums[i][b]);
    });
  }

  // Applies the epilogue to `count` voxels from `w` on of the tile's rows in a plane and stores them.
  template <int blocks>
  [[gnu::noinline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                       int64_t chunk, int64_t plane, int64_t w, int64_t count, int64_t from) {
    for (int64_t row = 0; row < height_outputs && task.input.h + row < arguments.sizes.output.h; ++row) {
      const float* sums = task.outputs(plane, row) + from;
      Position position{task.input.batch,   2 * chunk, task.input.d + plane,
                        task.input.h + row, w,         output_offset(arguments, task, chunk, plane, row, w)};
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < count; ++i, ++position.w, position.offset += lanes, sums += blocks * lanes) {
        Position at = position;
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b, ++at.channel_block, at.offset += arguments.output_view.channel_block_stride) {
          vec sum = load(sums + b * lanes);
          if (!all_finite(sum)) [[unlikely]]
            sum = sum_directly(arguments, at);
          vec value = epilogue(sum, at);
          if constexpr (shape.output_channels % lanes != 0)
            value = keep_lanes(first_lanes(shape.output_channels - at.channel_block * lanes), value);
          store(arguments.output + at.offset, value);
        }
      }
    }
  }

  // Gives the voxels [begin, end) of the tile's rows to an epilogue that pools.
  template <int blocks>
  [[gnu::noinline]] static void pool(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                     int64_t chunk, int64_t begin, int64_t end) {
    constexpr Axes window = Epilogue::window;
    for (int64_t plane = 0; plane < depth_outputs; plane += window.d)
      for (int64_t row = 0; row < height_outputs; row += window.h)
        for (int64_t b = 0; b < blocks; ++b) {
          Position first{task.input.batch, 2 * chunk + b, task.input.d + plane, task.input.h + row, begin, 0};
#pragma clang loop unroll(disable)
          for (; first.w < end; first.w += window.w)
            epilogue.pool(
                first,
                [&](const Axes& place) __attribute__((always_inline)) {
                  return load(task.outputs(plane + place.d, row + place.h) +
                              ((first.w - begin + place.w) * blocks + b) * lanes);
                },
                [&](const Position& at) __attribute__((always_inline)) { return sum_directly(arguments, at); });
        }
  }

  // One output by the definition. In a Winograd tile a NaN or infinity reaches all outputs; a direct sum gives it only
  // to those that read it, and values near FLT_MAX overflow in the transforms.
  [[gnu::noinline, gnu::cold]] static vec sum_directly(const Arguments& arguments, const Position& at) {
    const ConvSizes& sizes = arguments.sizes;
    const BlockedView& view = arguments.input_view;
    vec sum = splat(0.0f);
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t tap = 0; tap < shape.kernel.product(); ++tap) {
        const int64_t kd = tap / shape.kernel.w / shape.kernel.h, kh = tap / shape.kernel.w % shape.kernel.h,
                      kw = tap % shape.kernel.w;
        const int64_t d = at.d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
        const int64_t h = at.h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
        const int64_t w = at.w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
        if (d < 0 || d >= sizes.input.d || h < 0 || h >= sizes.input.h || w < 0 || w >= sizes.input.w) continue;
        const Input* element = arguments.input + at.n * view.batch_stride + channel * view.channel_block_stride +
                               d * view.d_stride + h * view.h_stride + w;
        sum = fma(load_splat(element),
                  load(arguments.weights + plain_weights + packing.plain_place(at.channel_block * lanes, channel, tap)),
                  sum);
      }
    return sum;
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
