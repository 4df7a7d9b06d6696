// A convolution and the max pool after it in one kernel, for windows that do not overlap. The convolution's output is
// never in memory: C3D's first layer would write 51 MB, and the pool keeps a quarter of that.
//
// Problem: p[n, c, z] = outer(max over k of inner(y[n, c, z * window + k])), y a convolution that nothing else reads, k
// within the window and y. Method: the convolution's kernel gets a pooling epilogue. When the sums of some windows are
// in scratch, the kernel passes it one window after another, and the maximum of a window stays in registers. Voxels
// that belong to no window are dropped. A NaN is the maximum, as in pooling.h.
//
// Limits: one task must compute a whole window, so the kernel's tiles must consist of whole windows
// (ConvolutionTemplate::tile); windows have few voxels (largest_pooled_window). Bound by: what bounds the convolution.
// With AVX2 C3D's first layer is 1.3 times as fast as with maxima kept in the output and updated voxel by voxel.
#pragma once

#include "kernels/cpu/conv/conv_direct_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The pooling epilogue. A kernel tests for `window` to learn whether its epilogue pools.
template <int64_t channels, Axes extents, class Output, class TwoEpilogues>
struct MaximumOfWindows {
  using Epilogues = TwoEpilogues;
  static constexpr Axes window = extents;
  static_assert(window.product() <= largest_pooled_window);

  const Epilogues& epilogues;
  Output* output;
  BlockedView view;
  Axes last;  // voxel of the convolution's output
  Axes pooled;

  // Stores the pool's output for the window that begins at voxel `first`. `sum_at` gives a voxel's sum by its index in
  // the window. `sum_directly` gives it by position, recomputed: used if a sum is NaN or infinite.
  template <class SumAt, class SumDirectly>
  [[gnu::always_inline]] void pool(const Position& first, const SumAt& sum_at, const SumDirectly& sum_directly) const {
    const Axes to{quotient<window.d>(first.d), quotient<window.h>(first.h), quotient<window.w>(first.w)};
    if (to.d >= pooled.d || to.h >= pooled.h || to.w >= pooled.w) return;
    const Axes most{last.d - first.d, last.h - first.h, last.w - first.w};
    const bool is_whole = most.d >= window.d - 1 && most.h >= window.h - 1 && most.w >= window.w - 1;
    const vec largest = is_whole ? maximum_of(first, {window.d - 1, window.h - 1, window.w - 1}, sum_at, sum_directly)
                                 : maximum_of(first, most, sum_at, sum_directly);
    Output* const voxel = output + first.n * view.batch_stride + first.channel_block * view.channel_block_stride +
                          to.d * view.d_stride + to.h * view.h_stride + to.w * lanes;
    vec value = epilogues.outer(largest, {first.n, first.channel_block, to.d, to.h, to.w, voxel - output});
    if constexpr (channels % lanes != 0) value = keep_lanes(first_lanes(channels - first.channel_block * lanes), value);
    store(voxel, value);
  }

  // `most`: the last place in the window. A voxel after it counts as the one there, which changes no maximum.
  template <class SumAt, class SumDirectly>
  [[gnu::always_inline]] vec maximum_of(const Position& first, const Axes& most, const SumAt& sum_at,
                                        const SumDirectly& sum_directly) const {
    constexpr int voxels = static_cast<int>(window.product());
    const auto place = [&](int voxel) __attribute__((always_inline)) {
      return Axes{smaller(voxel / window.w / window.h, most.d), smaller(voxel / window.w % window.h, most.h),
                  smaller(voxel % window.w, most.w)};
    };
    const auto position = [&](int voxel) __attribute__((always_inline)) {
      const Axes at = place(voxel);
      return Position{first.n, first.channel_block, first.d + at.d, first.h + at.h, first.w + at.w, 0};
    };
    vec sums[voxels], total = splat(0.0f);
#pragma clang loop unroll(full)
    for (int i = 0; i < voxels; ++i) total += sums[i] = sum_at(place(i));
    // If a voxel is not finite the total is not.
    if (!all_finite(total)) [[unlikely]] {
      vec exact[voxels];
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i) exact[i] = sums[i];
#pragma clang loop unroll(disable)
      for (int i = 0; i < voxels; ++i)
        if (!all_finite(exact[i])) exact[i] = sum_directly(position(i));
#pragma clang loop unroll(full)
      for (int i = 0; i < voxels; ++i) sums[i] = exact[i];
    }
    vec largest = epilogues.inner(sums[0], first);
#pragma clang loop unroll(full)
    for (int i = 1; i < voxels; ++i) largest = maximum(largest, epilogues.inner(sums[i], position(i)));
    return largest;
  }

  // The quotient of a number that is not negative: a shift if the divisor is a power of two.
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
