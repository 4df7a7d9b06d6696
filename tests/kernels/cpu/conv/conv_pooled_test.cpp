#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv/conv_pooled.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/conv_winograd/conv_winograd.h"
#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// For the convolution: integers that only the right voxel gives. The bias of padded channels is NaN, as an epilogue may
// leave anything there.
struct Inner {
  const float* bias;
  vec operator()(vec accumulator, const Position& p) const {
    const int64_t place = p.n * 7 - p.d * 5 + p.h * 3 - p.w;
    return accumulator + load(bias + p.channel_block * lanes) + splat(static_cast<float>(place));
  }
};
// For the pool, and not the same when applied twice.
struct Outer {
  vec operator()(vec maximum, const Position& p) const {
    return maximum * 2.0f + splat(static_cast<float>(p.n * 11 + p.d * 13 + p.h * 17 + p.w * 19));
  }
};

enum class Rounding { down, up };  // ceil_mode is up

Axes pooled_size(const Axes& size, const Axes& window, Rounding rounding) {
  const auto extent = [&](int64_t voxels, int64_t taps) {
    return rounding == Rounding::up ? divide_up(voxels, taps) : voxels / taps;
  };
  return {extent(size.d, window.d), extent(size.h, window.h), extent(size.w, window.w)};
}

// The definition: a convolution in double, then a plain loop over the windows.
PlainTensor reference(const ConvShape& shape, const ConvSizes& sizes, const PlainTensor& input,
                      const std::vector<float>& weights, const std::vector<float>& bias, const Axes& window,
                      const Axes& pooled) {
  const PlainTensor whole = reference_convolution(shape, sizes, input, weights);
  PlainTensor output(sizes.batch, shape.output_channels, pooled);
  for (int64_t n = 0; n < output.batch; ++n)
    for (int64_t c = 0; c < output.channels; ++c)
      for_each_voxel(pooled, [&](int64_t d, int64_t h, int64_t w) {
        float largest = -std::numeric_limits<float>::infinity();
        for_each_voxel(window, [&](int64_t i, int64_t j, int64_t k) {
          const Axes at{d * window.d + i, h * window.h + j, w * window.w + k};
          if (at.d >= whole.size.d || at.h >= whole.size.h || at.w >= whole.size.w) return;
          const float value = whole.at(n, c, at.d, at.h, at.w) + bias[static_cast<size_t>(c)] +
                              static_cast<float>(n * 7 - at.d * 5 + at.h * 3 - at.w);
          if (value > largest || std::isnan(value)) largest = value;
        });
        output.values[static_cast<size_t>(output.index(n, c, d, h, w))] =
            largest * 2.0f + static_cast<float>(n * 11 + d * 13 + h * 17 + w * 19);
      });
  return output;
}

template <ConvShape shape, Axes window, class Output>
using Maximum = MaximumOfWindows<shape.output_channels, window, Output, TwoEpilogues<Inner, Outer>>;

// Runs each task on its own, last first, and compares the pool's output, a view with gaps, with the definition.
template <class Kernel, ConvShape shape, Axes window, class Output>
void run_and_compare(const ConvSizes& sizes, const PlainTensor& input, const float* source,
                     const BlockedView& source_view, const std::vector<float>& weights,
                     const std::vector<float>& packed, Rounding rounding) {
  std::vector<float> bias(static_cast<size_t>(shape.output_channels));
  fill_with_integers(bias, 3);
  const Axes pooled = pooled_size(sizes.output, window, rounding);
  const PlainTensor expected = reference(shape, sizes, input, weights, bias, window, pooled);
  bias.resize(static_cast<size_t>(round_up(shape.output_channels, lanes)), std::numeric_limits<float>::quiet_NaN());
  BlockedTensor<Output> output(sizes.batch, shape.output_channels, pooled);
  const typename Kernel::Arguments arguments{{source, packed.data(), output.data(), sizes, source_view, output.view},
                                             pooled};
  const TwoEpilogues<Inner, Outer> epilogues{{bias.data()}, {}};
  const KernelWork work = Kernel::work(sizes);
  for (int64_t task = work.tasks - 1; task >= 0; --task)
    Kernel::run(arguments, epilogues, task, task + 1, nan_scratch(work.scratch_bytes).get());
  output.expect_equal(expected, 0.0);
}

struct Filled {
  PlainTensor input;
  std::vector<float> weights;
  Filled(const ConvShape& shape, const ConvSizes& sizes, decltype(fill_with_integers)& fill)
      : input(sizes.batch, shape.input_channels, sizes.input),
        weights(static_cast<size_t>(shape.output_channels * shape.input_channels * shape.kernel.product())) {
    fill(input.values, 1);
    fill(weights, 2);
  }
};

template <ConvShape shape, Axes window, class Output = float>
void check_stem(const ConvSizes& sizes, Rounding rounding = Rounding::down,
                decltype(fill_with_integers)& fill = fill_with_integers) {
  const Filled operands(shape, sizes, fill);
  using Pool = Maximum<shape, window, Output>;
  using Kernel = PooledConvolution<StemWinogradConvolution<shape, float, Output, Pool>, Pool>;
  run_and_compare<Kernel, shape, window, Output>(
      sizes, operands.input, operands.input.values.data(), dense_view(shape.input_channels, sizes.input, 1),
      operands.weights, pack_stem_winograd_weights({shape, lanes}, operands.weights), rounding);
}

template <ConvShape shape, Axes tile, Axes window, class Output = float>
void check_winograd(const ConvSizes& sizes, Rounding rounding = Rounding::down,
                    decltype(fill_with_integers)& fill = fill_with_integers) {
  const Filled operands(shape, sizes, fill);
  BlockedTensor<float> source(sizes.batch, shape.input_channels, sizes.input);
  source.fill_from(operands.input);
  using Pool = Maximum<shape, window, Output>;
  using Kernel = PooledConvolution<WinogradConvolution<shape, float, Output, Pool, tile>, Pool>;
  run_and_compare<Kernel, shape, window, Output>(sizes, operands.input, source.data(), source.view, operands.weights,
                                                 pack_winograd_weights({shape, tile, lanes}, operands.weights),
                                                 rounding);
}

constexpr ConvShape stem{.input_channels = 2, .output_channels = 2 * lanes + 3, .kernel = {3, 3, 3}};
constexpr ConvShape volume{.input_channels = lanes + 3, .output_channels = 2 * lanes + 3, .kernel = {3, 3, 3}};

TEST(ISA_SUITE(PooledConvolution), WindowsOfTheFirstLayerAtEverySize) {
  for (int64_t size = 1; size <= 6; ++size)
    for (const Rounding rounding : {Rounding::down, Rounding::up}) {
      const ConvSizes sizes = conv_sizes(stem, 2, {size, 7 - size, 3 * size + 1}, {1, 1, 1}, {1, 1, 1});
      check_stem<stem, {1, 2, 2}>(sizes, rounding);
      check_stem<stem, {2, 2, 2}>(sizes, rounding);
      check_stem<stem, {2, 1, 3}>(sizes, rounding);
    }
}

TEST(ISA_SUITE(PooledConvolution), WindowsAcrossRegisterTilesAndSegmentsOfLongRows) {
  const ConvSizes sizes = conv_sizes(stem, 1, {2, 2, 401}, {1, 1, 1}, {1, 1, 1});
  check_stem<stem, {1, 2, 2}>(sizes, Rounding::up);
  check_stem<stem, {1, 1, 7}>(sizes, Rounding::up);
}

TEST(ISA_SUITE(PooledConvolution), WindowsOfWinogradsTilesAtEverySize) {
  for (int64_t size = 1; size <= 6; ++size)
    for (const Rounding rounding : {Rounding::down, Rounding::up}) {
      const ConvSizes sizes = conv_sizes(volume, 2, {size, 7 - size, size + 2}, {1, 1, 1}, {1, 1, 1});
      check_winograd<volume, {2, 2, 2}, {2, 2, 2}>(sizes, rounding);
      check_winograd<volume, {2, 2, 2}, {1, 2, 1}>(sizes, rounding);
    }
}

// With another order of axes in the kernel, and with strides.
TEST(ISA_SUITE(PooledConvolution), WindowsOfOtherForms) {
  constexpr ConvShape depth{.input_channels = lanes, .output_channels = lanes, .kernel = {3, 1, 1}};
  constexpr ConvShape height{.input_channels = lanes, .output_channels = lanes, .kernel = {1, 3, 1}};
  constexpr ConvShape strided{
      .input_channels = lanes, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check_winograd<depth, {2, 1, 1}, {2, 1, 1}>(conv_sizes(depth, 2, {5, 3, 4}, {1, 0, 0}, {1, 0, 0}));
  check_winograd<height, {1, 2, 1}, {1, 2, 1}>(conv_sizes(height, 2, {3, 7, 4}, {0, 1, 0}, {0, 1, 0}));
  check_winograd<strided, {2, 2, 2}, {2, 2, 2}>(conv_sizes(strided, 1, {9, 11, 13}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(PooledConvolution), NanAndInfinityReachTheirWindowsAlone) {
  const ConvSizes sizes = conv_sizes(volume, 1, {4, 6, 7}, {1, 1, 1}, {1, 1, 1});
  check_winograd<volume, {2, 2, 2}, {2, 2, 2}>(sizes, Rounding::up, fill_with_nan_and_infinity);
  const ConvSizes stem_sizes = conv_sizes(stem, 1, {4, 6, 7}, {1, 1, 1}, {1, 1, 1});
  check_stem<stem, {1, 2, 2}>(stem_sizes, Rounding::down, fill_with_nan_and_infinity);
}

TEST(ISA_SUITE(PooledConvolution), StoresHalves) {
  const ConvSizes sizes = conv_sizes(stem, 1, {3, 5, 19}, {1, 1, 1}, {1, 1, 1});
  check_stem<stem, {1, 2, 2}, float16_t>(sizes, Rounding::up);
}

}  // namespace
}  // namespace onnxc::kernels
