// Convolution NCHW to NCHW with few channels on both sides (1 to 4).
//
// Problem: as in conv_direct.h. In NCHWc a block of three channels is 13 lanes of padding, and the layers after it move
// and compute that padding too. Method: lanes are neighbouring voxels of a row. A task copies the input rows that it
// reads to scratch, as the stem does (conv_stem_band.h). A register tile is up to four vectors of a row by all output
// channels. Each tap of each input channel is one step: the vectors are loaded at the tap's shift and multiplied with
// one broadcast weight of each output channel. Only the shape fixes the order of each sum. Limits: stride 1 along the
// width, one group. Bound by: FMA throughput with three and four output channels, by loads with fewer; a row's last
// vector may be partly empty.
#pragma once

#include "kernels/cpu/conv/planar_position.h"
#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_band.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// `spatial_axes`: of the tensors; the epilogue's position counts these axes from the last.
template <ConvShape shape, class Input, class Output, class Epilogue, int spatial_axes>
class PlanarConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(planar_supports(shape), "a convolution of many channels, or with a stride along the width");

  static KernelWork work(const ConvSizes& sizes) { return planar_geometry(shape, sizes, lanes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const StemGeometry geometry = planar_geometry(shape, arguments.sizes, lanes);
    for (int64_t task = task_begin; task < task_end; ++task) {
      const Band band(arguments.sizes, geometry, task, static_cast<float*>(scratch));
      copy_stem_lines(shape, arguments.sizes, arguments.input_view, arguments.input, band);
      for (int64_t h = band.row_begin; h < band.row_end; ++h) run_row(arguments, epilogue, band, h);
    }
  }

 private:
  using Band = StemBand<shape>;
  static constexpr int outputs = static_cast<int>(shape.output_channels);
  static constexpr int most_vectors = planar_vectors(outputs, lanes);

  static void run_row(const Arguments& arguments, const Epilogue& epilogue, const Band& band, int64_t h) {
    const int64_t width = arguments.sizes.output.w;
    int64_t w = 0;
    for (; w + (most_vectors - 1) * lanes < width; w += most_vectors * lanes)
      run_tile<most_vectors>(arguments, epilogue, band, h, w);
    run_rest<most_vectors - 1>(arguments, epilogue, band, h, w);
  }

  // The rest of a row: up to `vectors` of them.
  template <int vectors>
  static void run_rest(const Arguments& arguments, const Epilogue& epilogue, const Band& band, int64_t h, int64_t w) {
    if constexpr (vectors > 0) {
      if (w + (vectors - 1) * lanes < arguments.sizes.output.w)
        run_tile<vectors>(arguments, epilogue, band, h, w);
      else
        run_rest<vectors - 1>(arguments, epilogue, band, h, w);
    }
  }

  template <int vectors>
  [[gnu::noinline]] static void run_tile(const Arguments& arguments, const Epilogue& epilogue, const Band& band,
                                         int64_t h, int64_t w) {
    vec sums[outputs][vectors];
    for (int o = 0; o < outputs; ++o)
      for (int v = 0; v < vectors; ++v) sums[o][v] = splat(0.0f);
    const TapRange rows = band.height_taps(arguments.sizes, h);
    for (int64_t channel = 0; channel < shape.input_channels; ++channel)
      for (int64_t kd = band.depth_taps.begin; kd < band.depth_taps.end; ++kd) {
        const int64_t tap = (kd * shape.kernel.h + rows.begin) * shape.kernel.w;
        add_lines<vectors>(
            band.line(channel, kd, (h - band.row_begin) * shape.stride.h + rows.begin * shape.dilation.h) + w,
            band.row_stride * shape.dilation.h, rows.count(),
            arguments.weights + planar_weight_offset(shape, 0, channel, tap), sums);
      }
    finish<vectors>(arguments, epilogue, band, h, w, sums);
  }

  // The products of `count` lines, one for each tap of the height, with all taps of the width.
  template <int vectors>
  [[gnu::always_inline]] static void add_lines(const float* line, int64_t distance, int64_t count, const float* weights,
                                               vec (&sums)[outputs][vectors]) {
#pragma clang loop unroll(disable)
    for (; count > 0; --count, line += distance) {
      // Rolled: unrolled, clang may keep loads of several taps live and spill the tile.
#pragma clang loop unroll(disable)
      for (int64_t kw = 0; kw < shape.kernel.w; ++kw, weights += outputs) {
        vec elements[vectors];
#pragma clang loop unroll(full)
        for (int v = 0; v < vectors; ++v) elements[v] = load(line + kw * shape.dilation.w + v * lanes);
#pragma clang loop unroll(full)
        for (int o = 0; o < outputs; ++o) {
          const vec weight = load_splat(weights + o);
#pragma clang loop unroll(full)
          for (int v = 0; v < vectors; ++v) sums[o][v] = fma(weight, elements[v], sums[o][v]);
        }
      }
    }
  }

  template <int vectors>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const Epilogue& epilogue, const Band& band,
                                            int64_t h, int64_t w, const vec (&sums)[outputs][vectors]) {
    vec stored[outputs][vectors];
    for (int o = 0; o < outputs; ++o)
      for (int v = 0; v < vectors; ++v) stored[o][v] = sums[o][v];
    asm("" : "+m"(stored));  // the sums leave their registers here, so that the epilogue has them all
    const BlockedView& view = arguments.output_view;
    const int64_t origin = band.batch * view.batch_stride + band.d * view.d_stride + h * view.h_stride;
#pragma clang loop unroll(disable)
    for (int64_t o = 0; o < outputs; ++o)
#pragma clang loop unroll(disable)
      for (int64_t v = 0; v < vectors; ++v) {
        const int64_t column = w + v * lanes;
        const MatrixPosition position = planar_position<spatial_axes>(
            band.batch, o, {band.d, h, column}, origin + o * view.channel_block_stride + column,
            smaller(lanes, arguments.sizes.output.w - column));
        store_partial(arguments.output + position.offset, epilogue(stored[o][v], position), position.count);
      }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
