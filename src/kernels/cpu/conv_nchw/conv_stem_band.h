// Shared by the convolutions that read NCHW (conv_stem.h, conv_planar.h): a task is a band of output rows, and copies
// the input rows that it reads to scratch, as floats and with zeros past their ends.
#pragma once

#include "kernels/cpu/conv/window.h"
#include "kernels/cpu/conv_nchw/conv_stem_geometry.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The part of a band that does not depend on the shape.
struct StemBandLines {
  int64_t batch, d;
  int64_t row_begin, row_end;  // of the output
  TapRange depth_taps;         // inside the input
  float* lines;                // [input channel][tap of the depth][row][column]
  int64_t input_rows, row_stride;
};

template <ConvShape shape>
struct StemBand : StemBandLines {
  StemBand(const ConvSizes& sizes, const StemGeometry& geometry, int64_t task, float* scratch)
      : StemBandLines{
            .batch = task / geometry.bands / sizes.output.d,
            .d = task / geometry.bands % sizes.output.d,
            .row_begin = task % geometry.bands * geometry.band_rows,
            .row_end = smaller(task % geometry.bands * geometry.band_rows + geometry.band_rows, sizes.output.h),
            .depth_taps = taps_between(task / geometry.bands % sizes.output.d * shape.stride.d - sizes.begin_pads.d,
                                       shape.kernel.d, shape.dilation.d, 0, sizes.input.d),
            .lines = scratch,
            .input_rows = geometry.input_rows,
            .row_stride = geometry.row_stride} {}

  float* line(int64_t channel, int64_t kd, int64_t row) const {
    return lines + ((channel * shape.kernel.d + kd) * input_rows + row) * row_stride;
  }
  // The taps of the height that lie inside the input, of output row h.
  TapRange height_taps(const ConvSizes& sizes, int64_t h) const {
    return taps_between(h * shape.stride.h - sizes.begin_pads.h, shape.kernel.h, shape.dilation.h, 0, sizes.input.h);
  }
};

// The rows inside the input that the band reads. Column 0 is that of the first output's first tap.
template <class Input>
[[gnu::noinline]] void copy_stem_lines(const ConvShape& shape, const ConvSizes& sizes, const BlockedView& view,
                                       const Input* input, const StemBandLines& band) {
  const int64_t first_row = band.row_begin * shape.stride.h - sizes.begin_pads.h;
  // Columns [begin, end) of the scratch are inside the input.
  const int64_t begin = larger(0, smaller(sizes.begin_pads.w, band.row_stride));
  const int64_t end = larger(begin, smaller(sizes.begin_pads.w + sizes.input.w, band.row_stride));
  for (int64_t channel = 0; channel < shape.input_channels; ++channel)
    for (int64_t kd = band.depth_taps.begin; kd < band.depth_taps.end; ++kd)
      for (int64_t row = 0; row < band.input_rows; ++row) {
        const int64_t h = first_row + row;
        if (h < 0 || h >= sizes.input.h) continue;
        const int64_t d = band.d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
        const Input* source = input + band.batch * view.batch_stride + channel * view.channel_block_stride +
                              d * view.d_stride + h * view.h_stride - sizes.begin_pads.w;
        float* line = band.lines + ((channel * shape.kernel.d + kd) * band.input_rows + row) * band.row_stride;
        for (int64_t w = 0; w < begin; ++w) line[w] = 0.0f;
        for (int64_t w = begin; w < end; ++w) line[w] = static_cast<float>(source[w]);
        for (int64_t w = end; w < band.row_stride; ++w) line[w] = 0.0f;
      }
}

// Compiled with the runtime (conv_stem_band_instances.cpp).
extern template void copy_stem_lines<float>(const ConvShape&, const ConvSizes&, const BlockedView&, const float*,
                                            const StemBandLines&);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
