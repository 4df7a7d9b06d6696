// Depthwise convolution over blocked channels: one filter a channel; any kernel, stride, dilation and begin pads, ranks
// 1 to 3.
//
// Problem: y[n, c, z] = epilogue(sum over k of x[n, c, z * stride - pad + k * dilation] * w[c, k]), x zero outside its
// bounds. Lanes are channels, so all is lane by lane. Method: a tile of up to eight outputs of one row stays in
// registers; for each row of the kernel its taps are loaded once, and each input element is loaded once and serves
// every output and tap of the row that meet in it. Rows of the kernel that fall into the padding are left out; tiles at
// the ends of a row read zeros for what lies outside. The order of each sum is that of the taps.
// Limits: kernels wider than five load an element for each tap, as do the ends of a row for kernels wider than three.
// Bound by: FMA throughput while the planes of a band stay in the second-level cache.
#pragma once

#include "codegen/cpu/kernels/conv_depthwise_geometry.h"
#include "codegen/cpu/kernels/vector.h"
#include "codegen/cpu/kernels/window.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class DepthwiseConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(depthwise_supports(shape), "a convolution that joins channels");

  static KernelWork work(const ConvSizes& sizes) { return depthwise_geometry(shape, lanes, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; needs no scratch.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* /*scratch*/) {
    const DepthwiseGeometry geometry = depthwise_geometry(shape, lanes, arguments.sizes);
    const Axes& size = arguments.sizes.output;
    for (int64_t task = task_begin; task < task_end; ++task) {
      const int64_t band = task % geometry.bands;
      const int64_t range = task / geometry.bands % geometry.ranges;
      const int64_t block = task / geometry.bands / geometry.ranges % packing.blocks();
      const int64_t batch = task / geometry.bands / geometry.ranges / packing.blocks();
      const int64_t d_end = smaller((range + 1) * geometry.range_planes, size.d);
      const int64_t h_end = smaller((band + 1) * geometry.band_rows, size.h);
      for (int64_t d = range * geometry.range_planes; d < d_end; ++d)
        for (int64_t h = band * geometry.band_rows; h < h_end; ++h)
          run_row(arguments, epilogue, {batch, block, d, h, 0, 0});
    }
  }

 private:
  static constexpr DepthwisePacking packing{shape, lanes};
  // Whether the accumulators, a row of taps and the input elements fit the registers.
  template <bool at_edge>
  static constexpr bool keeps_taps =
      shape.kernel.w <= (at_edge ? 3 : 5) && (lanes == 16 || shape.stride.w == 1 || !at_edge);

  // One row of outputs; `row` says which.
  static void run_row(const Arguments& arguments, const Epilogue& epilogue, Position row) {
    const int64_t width = arguments.sizes.output.w;
    for (int64_t w = 0; w < width;) {
      row.w = w;
      const int64_t left = width - w;
      if (left >= 8)
        run_tile<8>(arguments, epilogue, row), w += 8;
      else if (left >= 4)
        run_tile<4>(arguments, epilogue, row), w += 4;
      else if (left >= 2)
        run_tile<2>(arguments, epilogue, row), w += 2;
      else
        run_tile<1>(arguments, epilogue, row), w += 1;
    }
  }

  // Input elements of a row that a tile reads, from the first tap of its first output on.
  template <int outputs>
  static constexpr int64_t columns = (outputs - 1) * shape.stride.w + (shape.kernel.w - 1) * shape.dilation.w + 1;

  template <int outputs>
  [[gnu::always_inline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue,
                                              const Position& first) {
    const ConvSizes& sizes = arguments.sizes;
    const Axes origin{first.d * shape.stride.d - sizes.begin_pads.d, first.h * shape.stride.h - sizes.begin_pads.h,
                      first.w * shape.stride.w - sizes.begin_pads.w};  // of the window, in the input
    vec accumulators[outputs] = {};
    if (origin.w >= 0 && origin.w + columns<outputs> <= sizes.input.w)
      accumulate<outputs, false>(arguments, first, origin, accumulators);
    else
      accumulate<outputs, true>(arguments, first, origin, accumulators);
    finish<outputs>(arguments, epilogue, first, accumulators);
  }

  template <int outputs, bool at_edge>
  [[gnu::always_inline]] static void accumulate(const Arguments& arguments, const Position& first, const Axes& origin,
                                                vec (&accumulators)[outputs]) {
    alignas(64) static constexpr Input zeros[lanes] = {};
    const BlockedView& view = arguments.input_view;
    const Axes& size = arguments.sizes.input;
    const TapRange kd = taps_between(origin.d, shape.kernel.d, shape.dilation.d, 0, size.d);
    const TapRange kh = taps_between(origin.h, shape.kernel.h, shape.dilation.h, 0, size.h);
    const Input* const block =
        arguments.input + first.n * view.batch_stride + first.channel_block * view.channel_block_stride;
    const float* const weights = arguments.weights + first.channel_block * packing.block_size();
    for (int64_t i = kd.begin; i < kd.end; ++i)
#pragma clang loop unroll(disable)
      for (int64_t j = kh.begin; j < kh.end; ++j) {
        const Input* const row = block + (origin.d + i * shape.dilation.d) * view.d_stride +
                                 (origin.h + j * shape.dilation.h) * view.h_stride + origin.w * lanes;
        const float* const taps = weights + (i * shape.kernel.h + j) * shape.kernel.w * lanes;
        const InputRow<Input, at_edge> elements{row, origin.w, size.w, zeros};
        if constexpr (keeps_taps<at_edge>)
          add_row_by_element<outputs>(elements, taps, accumulators);
        else
          add_row_by_tap<outputs>(elements, taps, accumulators);
      }
  }

  // Every element is loaded once and multiplied with each tap that meets an output of the tile in it.
  template <int outputs, class Elements>
  [[gnu::always_inline]] static void add_row_by_element(const Elements& elements, const float* taps,
                                                        vec (&accumulators)[outputs]) {
    vec tap[shape.kernel.w];
#pragma clang loop unroll(full)
    for (int k = 0; k < shape.kernel.w; ++k) tap[k] = load(taps + k * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < columns<outputs>; ++i) {
      vec element;
      bool is_loaded = false;
#pragma clang loop unroll(full)
      for (int k = shape.kernel.w - 1; k >= 0; --k) {
        const int64_t distance = i - k * shape.dilation.w;
        if (distance < 0 || distance % shape.stride.w != 0 || distance / shape.stride.w >= outputs) continue;
        if (!is_loaded) element = elements[i];
        is_loaded = true;
        vec& accumulator = accumulators[distance / shape.stride.w];
        accumulator = fma(element, tap[k], accumulator);
      }
    }
  }

  template <int outputs, class Elements>
  [[gnu::always_inline]] static void add_row_by_tap(const Elements& elements, const float* taps,
                                                    vec (&accumulators)[outputs]) {
#pragma clang loop unroll(disable)
    for (int64_t k = 0; k < shape.kernel.w; ++k) {
      const vec tap = load(taps + k * lanes);
#pragma clang loop unroll(full)
      for (int i = 0; i < outputs; ++i)
        accumulators[i] = fma(elements[i * shape.stride.w + k * shape.dilation.w], tap, accumulators[i]);
    }
  }

  template <int outputs>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Position& first,
                                            const vec (&accumulators)[outputs]) {
    vec finished[outputs];
    for (int i = 0; i < outputs; ++i) finished[i] = accumulators[i];
    asm("" : "+m"(finished));  // the accumulators leave their registers here, so that the epilogue has them all
    const BlockedView& view = arguments.output_view;
    Position position = first;
    position.offset = first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                      first.d * view.d_stride + first.h * view.h_stride + first.w * lanes;
#pragma clang loop unroll(disable)
    for (int i = 0; i < outputs; ++i, ++position.w, position.offset += lanes) {
      vec value = epilogue(finished[i], position);
      if constexpr (shape.output_channels % lanes != 0)
        value = keep_lanes(first_lanes(shape.output_channels - first.channel_block * lanes), value);
      store(arguments.output + position.offset, value);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
