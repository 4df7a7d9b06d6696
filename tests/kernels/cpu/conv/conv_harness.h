// Runs a convolution kernel on views with gaps and compares it with a plain loop in double precision.
//
// Everything that a kernel may not read is NaN, everything that it may not write is checked afterwards, outputs and
// scratch start as NaN.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/kernel_work.h"
#include "kernels/cpu/vector/vector.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {
namespace {

// A dense row-major tensor [batch, channels, d, h, w].
struct PlainTensor {
  int64_t batch, channels;
  Axes size;
  std::vector<float> values;

  PlainTensor(int64_t batch_, int64_t channels_, const Axes& size_)
      : batch(batch_),
        channels(channels_),
        size(size_),
        values(static_cast<size_t>(batch_ * channels_ * size_.product())) {}
  int64_t index(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return (((n * channels + c) * size.d + d) * size.h + h) * size.w + w;
  }
  float at(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return values[static_cast<size_t>(index(n, c, d, h, w))];
  }
};

template <class Visitor>
void for_each_voxel(const Axes& size, Visitor visit) {
  for (int64_t d = 0; d < size.d; ++d)
    for (int64_t h = 0; h < size.h; ++h)
      for (int64_t w = 0; w < size.w; ++w) visit(d, h, w);
}

// A blocked tensor that is a part of a larger one: a channel block before and after, a gap after each row.
template <class T>
struct BlockedTensor {
  int64_t batch, channels;
  Axes size;
  BlockedView view;
  std::vector<T> storage;

  static constexpr int64_t row_gap = 3 * lanes;
  static constexpr float gap_value = std::numeric_limits<float>::quiet_NaN();

  BlockedTensor(int64_t batch_, int64_t channels_, const Axes& size_)
      : batch(batch_), channels(channels_), size(size_) {
    view.h_stride = size.w * lanes + row_gap;
    view.d_stride = view.h_stride * size.h + row_gap;
    view.channel_block_stride = view.d_stride * size.d;
    view.batch_stride = view.channel_block_stride * (divide_up(channels, lanes) + 2);
    storage.assign(static_cast<size_t>(view.batch_stride * batch), T(gap_value));
  }

  T* data() { return storage.empty() ? nullptr : storage.data() + view.channel_block_stride; }
  int64_t offset(int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) const {
    return n * view.batch_stride + c / lanes * view.channel_block_stride + d * view.d_stride + h * view.h_stride +
           w * lanes + c % lanes;
  }

  void fill_from(const PlainTensor& plain) {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < round_up(channels, lanes); ++c)
        for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
          data()[offset(n, c, d, h, w)] = T(c < channels ? plain.at(n, c, d, h, w) : 0.0f);
        });
  }

  // Compares each element with `expected`, the channels that pad the last block with zero, and everything else with
  // what it was.
  void expect_equal(const PlainTensor& expected, double tolerance) {
    std::vector<bool> written(storage.size(), false);
    int64_t wrong = 0;
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t c = 0; c < round_up(channels, lanes); ++c)
        for_each_voxel(size, [&](int64_t d, int64_t h, int64_t w) {
          const int64_t at = offset(n, c, d, h, w);
          written[static_cast<size_t>(at + view.channel_block_stride)] = true;
          const float value = static_cast<float>(data()[at]);
          const float reference = c < channels ? expected.at(n, c, d, h, w) : 0.0f;
          const bool is_equal = value == reference || (std::isnan(value) && std::isnan(reference)) ||
                                std::abs(static_cast<double>(value) - reference) <= (c < channels ? tolerance : 0.0);
          if (!is_equal && ++wrong <= 5)
            ADD_FAILURE() << "at n=" << n << " c=" << c << " d=" << d << " h=" << h << " w=" << w << ": " << value
                          << " instead of " << reference;
        });
    EXPECT_EQ(wrong, 0);
    for (size_t i = 0; i < storage.size(); ++i)
      if (!written[i] && !std::isnan(static_cast<float>(storage[i]))) {
        ADD_FAILURE() << "element " << i << " outside the view was written";
        return;
      }
  }
};

// Small integers: every sum is exact in float, so any order gives the same bits.
inline void fill_with_integers(std::vector<float>& values, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> pick(-4, 4);
  for (float& value : values) value = static_cast<float>(pick(generator));
}

// Small integers with a NaN and infinities here and there.
inline void fill_with_nan_and_infinity(std::vector<float>& values, uint32_t seed) {
  fill_with_integers(values, seed);
  if (seed != 1) return;  // only the input
  values[7] = std::numeric_limits<float>::quiet_NaN();
  values[values.size() / 3] = std::numeric_limits<float>::infinity();
  values[values.size() / 2] = -std::numeric_limits<float>::infinity();
}

// Small integers with a NaN, infinities and a value that overflows in Winograd's transforms here and there.
inline void fill_with_some_not_finite(std::vector<float>& values, uint32_t seed) {
  fill_with_nan_and_infinity(values, seed);
  if (seed == 1) values[values.size() - 5] = std::numeric_limits<float>::max();
}

inline void fill_with_normals(std::vector<float>& values, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> pick(0.0f, 1.0f);
  for (float& value : values) value = pick(generator);
}

inline ConvSizes conv_sizes(const ConvShape& shape, int64_t batch, const Axes& input, const Axes& begin_pads,
                            const Axes& end_pads) {
  auto extent = [](int64_t in, int64_t begin, int64_t end, int64_t kernel, int64_t stride, int64_t dilation) {
    return (in + begin + end - dilation * (kernel - 1) - 1) / stride + 1;
  };
  return {batch,
          input,
          {extent(input.d, begin_pads.d, end_pads.d, shape.kernel.d, shape.stride.d, shape.dilation.d),
           extent(input.h, begin_pads.h, end_pads.h, shape.kernel.h, shape.stride.h, shape.dilation.h),
           extent(input.w, begin_pads.w, end_pads.w, shape.kernel.w, shape.stride.w, shape.dilation.w)},
          begin_pads};
}

// The definition, in double.
inline PlainTensor reference_convolution(const ConvShape& shape, const ConvSizes& sizes, const PlainTensor& input,
                                         const std::vector<float>& weights) {
  PlainTensor output(sizes.batch, shape.output_channels, sizes.output);
  const int64_t group_inputs = shape.group_input_channels();
  for (int64_t n = 0; n < sizes.batch; ++n)
    for (int64_t o = 0; o < shape.output_channels; ++o)
      for_each_voxel(sizes.output, [&](int64_t d, int64_t h, int64_t w) {
        double sum = 0.0;
        for (int64_t i = 0; i < group_inputs; ++i)
          for_each_voxel(shape.kernel, [&](int64_t kd, int64_t kh, int64_t kw) {
            const int64_t id = d * shape.stride.d - sizes.begin_pads.d + kd * shape.dilation.d;
            const int64_t ih = h * shape.stride.h - sizes.begin_pads.h + kh * shape.dilation.h;
            const int64_t iw = w * shape.stride.w - sizes.begin_pads.w + kw * shape.dilation.w;
            if (id < 0 || id >= sizes.input.d || ih < 0 || ih >= sizes.input.h || iw < 0 || iw >= sizes.input.w) return;
            const int64_t channel = o / shape.group_output_channels() * group_inputs + i;
            const int64_t tap = (kd * shape.kernel.h + kh) * shape.kernel.w + kw;
            sum += static_cast<double>(input.at(n, channel, id, ih, iw)) *
                   weights[static_cast<size_t>((o * group_inputs + i) * shape.kernel.product() + tap)];
          });
        output.values[static_cast<size_t>(output.index(n, o, d, h, w))] = static_cast<float>(sum);
      });
  return output;
}

struct AlignedFree {
  void operator()(void* memory) const { std::free(memory); }
};

// Scratch as a thread would bring it: aligned, of exactly the size asked for (so that the address sanitizer sees more),
// full of NaN.
inline std::unique_ptr<void, AlignedFree> nan_scratch(int64_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, static_cast<size_t>(larger(bytes, 1))) != 0) std::abort();
  std::memset(memory, 0xff, static_cast<size_t>(bytes));
  return std::unique_ptr<void, AlignedFree>(memory);
}

// Adds to each element integers that only the right position gives, and reads a residual at the position's offset.
// `Output` is the storage type of the residual, which has the output's view.
template <class Output>
struct PositionEpilogue {
  const float* bias;  // channels rounded up to the block; the padding is NaN, as an epilogue may leave anything in
                      // padded channels
  const Output* residual;
  vec operator()(vec accumulator, const Position& p) const {
    const float place = static_cast<float>(p.n * 7 + p.d * 5 + p.h * 3 + p.w);
    return accumulator + load(bias + p.channel_block * lanes) + load(residual + p.offset) + splat(place);
  }
};

inline void apply_position_epilogue(PlainTensor& output, const std::vector<float>& bias, const PlainTensor& residual) {
  for (int64_t n = 0; n < output.batch; ++n)
    for (int64_t c = 0; c < output.channels; ++c)
      for_each_voxel(output.size, [&](int64_t d, int64_t h, int64_t w) {
        const auto at = static_cast<size_t>(output.index(n, c, d, h, w));
        output.values[at] +=
            bias[static_cast<size_t>(c)] + residual.values[at] + static_cast<float>(n * 7 + d * 5 + h * 3 + w);
      });
}

// Each task on its own, last first, with scratch that the one before did not leave.
template <class Kernel, class Epilogue>
void run_tasks_backwards(const typename Kernel::Arguments& arguments, const Epilogue& epilogue) {
  const KernelWork work = Kernel::work(arguments.sizes);
  for (int64_t task = work.tasks - 1; task >= 0; --task)
    Kernel::run(arguments, epilogue, task, task + 1, nan_scratch(work.scratch_bytes).get());
}

// The parameters of an exact or an approximate comparison: how to fill the operands, and how far the result may be from
// the definition.
struct Trial {
  std::function<void(std::vector<float>&, uint32_t)> fill = fill_with_integers;
  double tolerance = 0.0;
};

// Operands of one convolution and its result by the definition, with PositionEpilogue applied.
struct Operands {
  ConvSizes sizes;
  PlainTensor input, residual, expected;
  std::vector<float> weights, bias;

  // `reference`: what the convolution means.
  Operands(const ConvShape& shape, const ConvSizes& sizes_, const Trial& trial,
           decltype(reference_convolution)& reference = reference_convolution)
      : sizes(sizes_),
        input(sizes.batch, shape.input_channels, sizes.input),
        residual(sizes.batch, shape.output_channels, sizes.output),
        expected(sizes.batch, shape.output_channels, sizes.output),
        weights(static_cast<size_t>(shape.output_channels * shape.group_input_channels() * shape.kernel.product())),
        bias(static_cast<size_t>(shape.output_channels)) {
    trial.fill(input.values, 1);
    trial.fill(weights, 2);
    trial.fill(bias, 3);
    trial.fill(residual.values, 4);
    expected = reference(shape, sizes, input, weights);
    apply_position_epilogue(expected, bias, residual);
    bias.resize(static_cast<size_t>(round_up(shape.output_channels, lanes)), std::numeric_limits<float>::quiet_NaN());
  }
};

// Runs a kernel whose epilogue is PositionEpilogue<Output> and compares its output, a view with gaps, with the
// definition.
template <class Kernel, class Input, class Output, class Weight>
void run_and_compare(const Operands& operands, const Input* input, const BlockedView& input_view,
                     const std::vector<Weight>& packed, const Trial& trial) {
  BlockedTensor<Output> residual(operands.sizes.batch, operands.residual.channels, operands.sizes.output);
  BlockedTensor<Output> output(operands.sizes.batch, operands.residual.channels, operands.sizes.output);
  residual.fill_from(operands.residual);
  using Arguments = typename Kernel::Arguments;
  const Arguments arguments{input,         reinterpret_cast<decltype(Arguments::weights)>(packed.data()),
                            output.data(), operands.sizes,
                            input_view,    output.view};
  run_tasks_backwards<Kernel>(arguments, PositionEpilogue<Output>{operands.bias.data(), residual.data()});
  output.expect_equal(operands.expected, trial.tolerance);
}

}  // namespace
}  // namespace onnxc::kernels
