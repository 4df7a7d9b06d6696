// A convolution and the max pool behind it in one kernel, for windows that do not overlap: what lies between the two,
// as large as all windows, never stands in memory. C3D's first layer writes 51 MB, of which the pool leaves a quarter.
//
// Problem: p[n, c, z] = outer(max over k of inner(y[n, c, z * window + k])), y a convolution that nothing else reads, k
// within the window and y. Method: the convolution's kernel is given an epilogue that stores by itself: the first voxel
// of a window to the pool's output, each further one the larger of itself and what stands there; the last one
// applies the outer epilogue. Voxels that no window has are dropped. A NaN is the largest, as in pooling.h.
//
// Limits: the kernel must compute all of a window in one task and its first voxel first, the last one last: its tiles
// are made of whole windows (ConvolutionTemplate::tile). Bound by: what bounds the convolution.
#pragma once

#include "codegen/cpu/kernels/conv_geometry.h"
#include "codegen/cpu/kernels/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The epilogue that pools.
template <int64_t channels, Axes window, class Output, class TwoEpilogues>
struct MaximumOfWindows {
  using Epilogues = TwoEpilogues;
  static constexpr bool stores_itself = true;

  const Epilogues& epilogues;
  Output* output;
  BlockedView view;
  Axes last;  // voxel of the convolution's output
  Axes pooled;

  [[gnu::always_inline]] vec operator()(vec sum, const Position& at) const {
    const Axes to{quotient<window.d>(at.d), quotient<window.h>(at.h), quotient<window.w>(at.w)};
    if (to.d >= pooled.d || to.h >= pooled.h || to.w >= pooled.w) return sum;
    Output* const voxel = output + at.n * view.batch_stride + at.channel_block * view.channel_block_stride +
                          to.d * view.d_stride + to.h * view.h_stride + to.w * lanes;
    const Axes place{at.d - to.d * window.d, at.h - to.h * window.h, at.w - to.w * window.w};
    vec value = epilogues.inner(sum, at);
    if ((place.d | place.h | place.w) != 0) value = maximum(load(voxel), value);
    const bool is_last = (place.d == window.d - 1 || at.d == last.d) && (place.h == window.h - 1 || at.h == last.h) &&
                         (place.w == window.w - 1 || at.w == last.w);
    if (is_last) value = epilogues.outer(value, {at.n, at.channel_block, to.d, to.h, to.w, voxel - output});
    if constexpr (channels % lanes != 0) value = keep_lanes(first_lanes(channels - at.channel_block * lanes), value);
    store(voxel, value);
    return value;
  }

  // Of numbers that are not negative: a shift where the divisor is a power of two.
  template <int64_t divisor>
  [[gnu::always_inline]] static int64_t quotient(int64_t number) {
    return static_cast<int64_t>(static_cast<uint64_t>(number) / static_cast<uint64_t>(divisor));
  }
};

// `Convolution`'s epilogue is a MaximumOfWindows.
template <class Convolution, class Maximum>
class PooledConvolution {
 public:
  // The convolution's own, but for `output` and its view: they are the pool's, whose size is `pooled`.
  struct Arguments {
    typename Convolution::Arguments convolution;
    Axes pooled;
  };

  static KernelWork work(const ConvSizes& sizes) { return Convolution::work(sizes); }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const typename Maximum::Epilogues& epilogues, int64_t task_begin,
                  int64_t task_end, void* scratch) {
    const auto& [convolution, pooled] = arguments;
    const Axes& size = convolution.sizes.output;
    const Axes last{size.d - 1, size.h - 1, size.w - 1};
    Convolution::run(convolution, Maximum{epilogues, convolution.output, convolution.output_view, last, pooled},
                     task_begin, task_end, scratch);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
