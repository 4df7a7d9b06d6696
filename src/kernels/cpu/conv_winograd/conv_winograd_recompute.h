// The outputs of a Winograd convolution that are NaN or infinite, by the definition.
//
// Problem: a NaN or infinity in the input makes all outputs of its tile NaN, and inputs beyond FLT_MAX / 8 (with F(4)
// FLT_MAX / 50, with F(2,4,4) FLT_MAX / 5000) overflow in the transforms. A direct sum gives what PyTorch gives.
// Method: an output that reads a NaN is NaN, whatever the weights are. Others that are not finite are summed again over
// their own taps, those of a line together. A tap's weights are recovered from the transformed ones: along each axis
// they are the output for a tile whose input at that tap is 1 and whose others are 0 (conv_winograd_points.h). Limits:
// a recovered weight may differ from the packed one in its last bits. Bound by: for NaN the reading of the input until
// the first one. For infinities FMAs and the recovery of the weights, which a line shares: an input of 64 channels, all
// infinite, takes 9 times as long as an ordinary one; one that is all NaN 1.3 times.
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

// The weights of one tap, given in the kernel's order of axes, for a block of output channels.
class WinogradTapWeights {
 public:
  WinogradTapWeights(const WinogradPacking& packing, const float* weights, const Axes& tap, int64_t output_block) {
    const WinogradForm form = packing.form();
    const WinogradTap outer(form.outer, tap.d), row(form.row, tap.h), column(form.column, tap.w);
    for (int o = 0; o < outer.count; ++o)
      for (int r = 0; r < row.count; ++r)
        for (int c = 0; c < column.count; ++c) {
          const Axes point{outer.point[o], row.point[r], column.point[c]};
          at_[count_] = weights + packing.offset(point, output_block * lanes, 0);
          factor_[count_++] = outer.factor[o] * row.factor[r] * column.factor[c];
        }
    channel_stride_ = packing.chunk_blocks(output_block / 2) * lanes;
  }

  // Those from an input channel. A weight within the rounding error of the transform was zero and becomes zero: 0 times
  // infinity is NaN.
  vec from(int64_t input_channel) const {
    const float rounding = 0x1p-23f * static_cast<float>(count_);
    vec sum = splat(0.0f), largest = splat(0.0f);
    for (int i = 0; i < count_; ++i) {
      const vec term = splat(factor_[i]) * load(at_[i] + input_channel * channel_stride_);
      sum += term;
      largest = maximum(largest, absolute(term));
    }
    return select(absolute(sum) <= largest * rounding, splat(0.0f), sum);
  }

 private:
  static constexpr int most = WinogradTap::most * WinogradTap::most * WinogradTap::most;
  int count_ = 0;
  const float* at_[most];
  float factor_[most];
  int64_t channel_stride_;
};

// Output voxels of a line, `apart` from each other, from `first` on. The sum of voxel i and a block of output channels,
// before the epilogue, is in memory at sum(i).
struct WinogradVoxels {
  Axes first;
  int64_t apart, count;
  int64_t output_block;
  float* sums;
  int64_t columns = 1, tile_stride = 0, output_stride = 0;  // the columns of a tile, and the distance of the next ones'
                                                            // sums

  float* sum(int64_t i) const { return sums + i / columns * tile_stride + i % columns * output_stride; }
};

// The inputs of a line of voxels. `image` is one element of the batch.
template <class Input>
class WinogradReads {
 public:
  WinogradReads(const WinogradPacking& packing, const ConvSizes& sizes, const BlockedView& view, const Input* image,
                const WinogradVoxels& voxels)
      : shape_(packing.shape), sizes_(sizes), view_(view), image_(image), voxels_(voxels) {}

  // Calls body(tap, line) for each tap whose plane and row are inside of the input.
  template <class Body>
  void for_each_line(const Body& body) const {
    const Axes &kernel = shape_.kernel, &dilation = shape_.dilation;
    for (int64_t d = 0; d < kernel.d; ++d)
      for (int64_t h = 0; h < kernel.h; ++h) {
        const int64_t plane = voxels_.first.d * shape_.stride.d + d * dilation.d - sizes_.begin_pads.d,
                      row = voxels_.first.h * shape_.stride.h + h * dilation.h - sizes_.begin_pads.h;
        if (plane < 0 || plane >= sizes_.input.d || row < 0 || row >= sizes_.input.h) continue;
        const Input* line = image_ + plane * view_.d_stride + row * view_.h_stride;
        for (int64_t w = 0; w < kernel.w; ++w) body(Axes{d, h, w}, line);
      }
  }
  // The column that voxel i reads by a tap; whether it is inside of the input.
  bool column(int64_t i, int64_t tap, int64_t& column) const {
    column = (voxels_.first.w + i * voxels_.apart) * shape_.stride.w + tap * shape_.dilation.w - sizes_.begin_pads.w;
    return column >= 0 && column < sizes_.input.w;
  }
  int64_t block_stride() const { return view_.channel_block_stride; }

  bool has_nan(int64_t i) const {
    bool has = false;
    for_each_line([&](const Axes& tap, const Input* line) {
      int64_t at = 0;
      if (has || !column(i, tap.w, at)) return;
      for (int64_t channel = 0; channel < shape_.input_channels && !has; channel += lanes) {
        const vec value = keep_lanes(first_lanes(shape_.input_channels - channel),
                                     load(line + at * lanes + channel / lanes * block_stride()));
        has = __builtin_reduce_or(value != value) != 0;
      }
    });
    return has;
  }

 private:
  const ConvShape& shape_;
  const ConvSizes& sizes_;
  const BlockedView& view_;
  const Input* image_;
  const WinogradVoxels& voxels_;
};

// Replaces the voxels' sums that are NaN or infinite.
template <class Input>
[[gnu::noinline, gnu::cold]] void winograd_recompute(const WinogradPacking& packing, const ConvSizes& sizes,
                                                     const BlockedView& view, const Input* image, const float* weights,
                                                     const WinogradVoxels& voxels) {
  constexpr int64_t most = 64, step = WinogradPacking::reduction_step;
  static_assert(lanes % step == 0);
  const WinogradReads<Input> reads(packing, sizes, view, image, voxels);
  const int64_t channels = packing.shape.input_channels;
  for (int64_t next = 0; next < voxels.count;) {
    vec sums[most];
    int64_t which[most], count = 0;
    for (; next < voxels.count && count < most; ++next) {
      if (all_finite(load(voxels.sum(next)))) continue;
      if (reads.has_nan(next)) {
        store(voxels.sum(next), splat(__builtin_nanf("")));
      } else {
        sums[count] = splat(0.0f);
        which[count++] = next;
      }
    }
    if (count == 0) continue;
    reads.for_each_line([&](const Axes& tap, const Input* line) {
      const WinogradTapWeights of_tap(packing, weights, packing.form().ordered(tap), voxels.output_block);
      for (int64_t channel = 0; channel < channels; channel += step) {
        const int64_t depth = smaller(step, channels - channel);
        vec factors[step];
        for (int64_t c = 0; c < depth; ++c) factors[c] = of_tap.from(channel + c);
        const Input* from = line + channel / lanes * reads.block_stride() + channel % lanes;
        for (int64_t i = 0; i < count; ++i) {
          int64_t column = 0;
          if (!reads.column(which[i], tap.w, column)) continue;
          for (int64_t c = 0; c < depth; ++c) sums[i] = fma(load_splat(from + column * lanes + c), factors[c], sums[i]);
        }
      }
    });
    for (int64_t i = 0; i < count; ++i) store(voxels.sum(which[i]), sums[i]);
  }
}

// Compiled with the runtime (conv_winograd_instances.cpp).
extern template void winograd_recompute<float>(const WinogradPacking&, const ConvSizes&, const BlockedView&,
                                               const float*, const float*, const WinogradVoxels&);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
