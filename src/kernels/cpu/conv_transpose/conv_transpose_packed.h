// Transposed convolution on NCHWc with at most one block of output channels.
//
// Problem: as in conv_transpose.h. There each residue modulo the stride is a convolution whose vectors hold the output
// channels; two or three channels are mostly padding, and with one block a register tile loads a weight for every nine
// FMAs. Method: the residues lie side by side in the lanes, so that all of them are one convolution of stride 1 with
// residues times channels as its output channels (conv_transpose_geometry.h). The direct kernel computes it; instead of
// its store, each residue's lanes are moved to the front, passed through the epilogue and stored at the residue's
// outputs. Limits: one group, dilation 1. A residue that lacks a tap multiplies by zero, so a NaN or infinity is summed
// again over the taps it has. Bound by: FMA throughput: 3x3x3 from 32 to 3 channels runs at the peak with 1.7 times
// fewer FMAs, 1.9 times as fast as conv_transpose.h; 2x2x2 from 32 to 16 is 1.45 times as fast. With a kernel as large
// as the stride: by writing the output.
#pragma once

#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv_transpose/conv_transpose_geometry.h"
#include "kernels/cpu/vector/transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ConvShape shape, class Input, class Output, class Epilogue>
class PackedTransposedConvolution {
 public:
  using Arguments = ConvArguments<Input, Output>;
  static_assert(packs_transposed(shape, lanes), "a transposed convolution that gains nothing");

  static KernelWork work(const ConvSizes& sizes) {
    return direct_geometry(packing.direct(), packing.sizes(sizes)).work;
  }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    Arguments convolution = arguments;
    convolution.sizes = packing.sizes(arguments.sizes);
    const Axes& pads = arguments.sizes.begin_pads;
    const Axes first{pads.d - shape.stride.d * packing.first(shape.stride.d, pads.d),
                     pads.h - shape.stride.h * packing.first(shape.stride.h, pads.h),
                     pads.w - shape.stride.w * packing.first(shape.stride.w, pads.w)};
    using Kernel = DirectConvolution<packing.convolution(), Input, Output, Scatter>;
    Kernel::run(convolution, Scatter{arguments, convolution.sizes, epilogue, first}, task_begin, task_end, scratch);
  }

 private:
  static constexpr PackedTransposedPacking packing{shape, lanes};
  static constexpr int64_t slots = packing.slots(), residues = packing.residues();

  // The epilogue of the convolution over all residues: stores each residue's outputs.
  struct Scatter {
    static constexpr bool stores_itself = true;
    const Arguments& whole;
    const ConvSizes& sizes;  // of the convolution
    const Epilogue& epilogue;
    Axes before;  // outputs of the first voxel's residues that lie before the output

    [[gnu::always_inline]] vec operator()(vec sums, const Position& p) const {
      store_slots<0>(sums, p, packing.has_zero_taps() && !all_finite(sums));
      return sums;
    }

    template <int slot>
    [[gnu::always_inline]] void store_slots(vec sums, const Position& p, bool sums_again) const {
      if constexpr (slot < slots) {
        const int64_t index = p.channel_block * slots + slot;
        if (index >= residues) return;
        const Axes residue = packing.residue(index);
        const Axes at{p.d * shape.stride.d + residue.d - before.d, p.h * shape.stride.h + residue.h - before.h,
                      p.w * shape.stride.w + residue.w - before.w};
        const Axes& size = whole.sizes.output;
        if (at.d >= 0 && at.d < size.d && at.h >= 0 && at.h < size.h && at.w >= 0 && at.w < size.w) {
          const BlockedView& view = whole.output_view;
          const Position position{
              p.n,  0,    at.d,
              at.h, at.w, p.n * view.batch_stride + at.d * view.d_stride + at.h * view.h_stride + at.w * lanes};
          if (sums_again) [[unlikely]]
            sums = sum_directly(p, residue);
          const vec value = epilogue(rotated<slot * shape.output_channels>(sums), position);
          store(whole.output + position.offset, keep_lanes(first_lanes(shape.output_channels), value));
        }
        store_slots<slot + 1>(sums, p, sums_again);
      }
    }

    // The same vector, right in one residue's lanes: summed over the taps that this residue has.
    [[gnu::noinline, gnu::cold]] vec sum_directly(const Position& p, const Axes& residue) const {
      constexpr Axes taps = packing.taps();
      constexpr DirectPacking weights = packing.direct();
      const BlockedView& view = whole.input_view;
      vec sum = splat(0.0f);
      for (int64_t tap = 0; tap < taps.product(); ++tap) {
        const Axes t{tap / taps.w / taps.h, tap / taps.w % taps.h, tap % taps.w};
        const bool has_tap = packing.kernel_tap(residue.d, shape.stride.d, taps.d, t.d) < shape.kernel.d &&
                             packing.kernel_tap(residue.h, shape.stride.h, taps.h, t.h) < shape.kernel.h &&
                             packing.kernel_tap(residue.w, shape.stride.w, taps.w, t.w) < shape.kernel.w;
        const Axes from{p.d + t.d - sizes.begin_pads.d, p.h + t.h - sizes.begin_pads.h, p.w + t.w - sizes.begin_pads.w};
        const bool is_inside = from.d >= 0 && from.d < sizes.input.d && from.h >= 0 && from.h < sizes.input.h &&
                               from.w >= 0 && from.w < sizes.input.w;
        if (!has_tap || !is_inside) continue;
        const Input* voxel =
            whole.input + p.n * view.batch_stride + from.d * view.d_stride + from.h * view.h_stride + from.w * lanes;
        for (int64_t channel = 0; channel < shape.input_channels; ++channel)
          sum = fma(load_splat(voxel + channel / lanes * view.channel_block_stride + channel % lanes),
                    load(whole.weights + weights.offset(0, p.channel_block * lanes, channel, tap)), sum);
      }
      return sum;
    }
  };

  // Lane `first` becomes lane 0, and so on around.
  template <int64_t first>
  [[gnu::always_inline]] static vec rotated(vec value) {
    const auto rotate = [&]<int... lane>(detail::Lanes<int, lane...>) __attribute__((always_inline)) {
      return __builtin_shufflevector(value, value, ((lane + first) % lanes)...);
    };
    return rotate(detail::AllLanes());
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
