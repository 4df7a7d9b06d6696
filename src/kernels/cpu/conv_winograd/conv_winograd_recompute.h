// One voxel of a Winograd convolution by the definition.
//
// Problem: a NaN or infinity in the input makes all outputs of its tile NaN, and inputs beyond FLT_MAX / 8 (with F(4)
// FLT_MAX / 50, with F(2,4,4) FLT_MAX / 5000) overflow in the transforms, where a direct sum gives what PyTorch gives.
// Method: an output that is NaN or infinite is summed again over its own taps. Their weights are recovered from the
// transformed ones: along each axis a tap's weight is the output for a tile whose input at that tap is 1 and whose
// others are 0 (conv_winograd_points.h). Limits: a recovered weight may differ from the packed one in its last bits.
// Bound by: nothing that matters while such inputs are rare; some ten times as slow as a direct convolution, with five
// taps a hundred times.
#pragma once

#include "kernels/cpu/conv_winograd/conv_winograd_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The points of one axis, and their factors, whose sum is the weight of a tap.
struct WinogradTap {
  static constexpr int most = 6;
  int count = 0;
  int64_t point[most] = {};
  float factor[most] = {};

  // The output that the fewest points lead to: the first output for the first tap, the last output for other taps.
  constexpr WinogradTap(const WinogradAxis& axis, int64_t tap) {
    const int64_t output = tap == 0 ? 0 : axis.outputs - 1, input = output * axis.stride + tap;
    for (int64_t i = 0; i < axis.points(); ++i) {
      const WinogradPoint& at = axis.table()[i];
      for (int j = 0; j < at.inputs; ++j) {
        if (at.position[j] != input || at.output[output] == 0.0f) continue;
        point[count] = i;
        factor[count++] = at.factor[j] * at.output[output];
      }
    }
  }
};

// The weights of a tap, given in the kernel's order of axes, from an input channel to a block of output channels. A
// weight within the rounding error of the transform was zero and becomes zero: 0 times infinity is NaN.
inline vec winograd_tap_weights(const WinogradPacking& packing, const float* weights, const Axes& tap,
                                int64_t input_channel, int64_t output_block) {
  const WinogradForm form = packing.form();
  const WinogradTap outer(form.outer, tap.d), row(form.row, tap.h), column(form.column, tap.w);
  const float rounding = 0x1p-23f * static_cast<float>(outer.count * row.count * column.count);
  vec sum = splat(0.0f), largest = splat(0.0f);
  for (int o = 0; o < outer.count; ++o)
    for (int r = 0; r < row.count; ++r)
      for (int c = 0; c < column.count; ++c) {
        const Axes point{outer.point[o], row.point[r], column.point[c]};
        const float* at = weights + packing.offset(point, output_block * lanes, input_channel);
        const vec term = splat(outer.factor[o] * row.factor[r] * column.factor[c]) * load(at);
        sum += term;
        largest = maximum(largest, absolute(term));
      }
  return select(absolute(sum) <= largest * rounding, splat(0.0f), sum);
}

// The output at voxel `at` for a block of output channels, before the epilogue. `image` is one element of the batch.
template <class Input>
[[gnu::noinline, gnu::cold]] vec winograd_recompute(const WinogradPacking& packing, const ConvSizes& sizes,
                                                    const BlockedView& view, const Input* image, const float* weights,
                                                    const Axes& at, int64_t output_block) {
  const Axes &kernel = packing.shape.kernel, &stride = packing.shape.stride, &dilation = packing.shape.dilation;
  const Axes& pads = sizes.begin_pads;
  const WinogradForm form = packing.form();
  vec sum = splat(0.0f);
  for (int64_t d = 0; d < kernel.d; ++d)
    for (int64_t h = 0; h < kernel.h; ++h)
      for (int64_t w = 0; w < kernel.w; ++w) {
        const Axes from{at.d * stride.d + d * dilation.d - pads.d, at.h * stride.h + h * dilation.h - pads.h,
                        at.w * stride.w + w * dilation.w - pads.w};
        const bool is_inside = from.d >= 0 && from.d < sizes.input.d && from.h >= 0 && from.h < sizes.input.h &&
                               from.w >= 0 && from.w < sizes.input.w;
        if (!is_inside) continue;
        const Axes tap = form.ordered({d, h, w});
        const Input* voxel = image + from.d * view.d_stride + from.h * view.h_stride + from.w * lanes;
        for (int64_t channel = 0; channel < packing.shape.input_channels; ++channel) {
          const vec element = load_splat(voxel + channel / lanes * view.channel_block_stride + channel % lanes);
          sum = fma(element, winograd_tap_weights(packing, weights, tap, channel, output_block), sum);
        }
      }
  return sum;
}

// Compiled with the runtime (conv_winograd_instances.cpp).
extern template vec winograd_recompute<float>(const WinogradPacking&, const ConvSizes&, const BlockedView&,
                                              const float*, const float*, const Axes&, int64_t);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
