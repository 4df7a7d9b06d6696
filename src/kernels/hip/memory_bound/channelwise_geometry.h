// The contract of the compiler, the host and the channelwise convolution kernel. Pure functions.
#pragma once

#include "kernels/hip/wave/divisor.h"
#include "kernels/hip/wave/launch.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// The numbers by which a block finds its outputs.
struct ChannelwiseLaunch {
  int64_t rounds;
  Divisor blocks_a_channel, channel_blocks, width, height;  // the last two of the grid
  int64_t skipped;                                          // outputs of the first thread that are before the first one
};

// One of depth, height and width.
constexpr int64_t along(const Axes& axes, int axis) { return axis == 0 ? axes.d : axis == 1 ? axes.h : axes.w; }

// The taps that an output of a transposed convolution reads along an axis. Tap t of the output at p, counted with its
// padding, reads the input at (p - t * dilation) / stride if that is whole. These are the first such tap, which follows
// from p's residue by the stride, and each `step`-th after it, which reads `back` inputs before.
struct TransposedTaps {
  int64_t kernel, stride, dilation;

  constexpr int64_t divisor() const {
    int64_t a = stride, b = dilation;
    while (b != 0) {
      const int64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
  constexpr int64_t step() const { return stride / divisor(); }
  constexpr int64_t back() const { return dilation / divisor(); }
  // Whether the outputs of each residue read equally many.
  constexpr bool are_even() const { return divisor() == 1 && kernel % stride == 0; }
  // How far before p / stride the last tap reads.
  constexpr int64_t reach() const { return (kernel - 1) * dilation / stride; }
};

// A convolution of groups of few channels; the kernel's template argument.
struct ChannelwisePlan {
  ConvShape shape;
  int64_t lanes = 16;         // of a block of channels; 1: each channel has a stride of its own
  int64_t output_lanes = 16;  // the same of the output
  bool transposed = false;
  bool has_height = true;  // false if the output's height is known to be 1

  constexpr bool operator==(const ChannelwisePlan&) const = default;

  constexpr int64_t taps() const { return shape.kernel.product(); }

  // A thread computes adjacent outputs along one axis, so that an element it loads serves several of them: along the
  // height, if there is one, since its neighbours along the width belong to neighbouring threads.
  constexpr int slide() const {
    if (transposed) return has_height && shape.stride.h <= most_outputs ? 1 : 2;
    return shape.kernel.h > 1 ? 1 : 2;
  }
  // Transposed convolutions have whole strides, and more outputs: each has few products, and indices would take most of
  // the time.
  constexpr int64_t outputs() const {
    const int64_t stride = along(shape.stride, slide());
    return transposed ? larger(8 / stride, 1) * stride : 4;
  }
  // More would take too many registers.
  static constexpr int64_t most_outputs = 16;
  // Elements of the input that they need along that axis, without gaps.
  constexpr int64_t span() const {
    if (transposed) return outputs() / along(shape.stride, slide()) + taps_along(slide()).reach();
    return (outputs() - 1) * along(shape.stride, slide()) +
           (along(shape.kernel, slide()) - 1) * along(shape.dilation, slide()) + 1;
  }
  constexpr TransposedTaps taps_along(int axis) const {
    return {along(shape.kernel, axis), along(shape.stride, axis), along(shape.dilation, axis)};
  }

  // Weights are floats, [block of output channels][tap][input channel of the group][lane].
  constexpr int64_t channel_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t block_weights() const { return taps() * shape.group_input_channels() * lanes; }
  constexpr int64_t weight_offset(int64_t channel, int64_t tap, int64_t input) const {
    return channel / lanes * block_weights() + (tap * shape.group_input_channels() + input) * lanes + channel % lanes;
  }
  constexpr int64_t weight_count() const { return channel_blocks() * block_weights(); }
  constexpr int64_t lds_bytes() const { return block_weights() * 4; }

  // The first thread of a transposed convolution begins at a multiple of the stride, counted with the padding: so many
  // outputs before the first one.
  constexpr int64_t skipped(const ConvSizes& sizes) const {
    const int64_t stride = along(shape.stride, slide()), rest = along(sizes.begin_pads, slide()) % stride;
    return !transposed ? 0 : rest < 0 ? rest + stride : rest;
  }
  // Outputs of a thread counted along each axis.
  constexpr Axes grid(const ConvSizes& sizes) const {
    const Axes& output = sizes.output;
    const int64_t on_slide = divide_up(along(output, slide()) + skipped(sizes), outputs());
    return {output.d, slide() == 1 ? on_slide : output.h, slide() == 2 ? on_slide : output.w};
  }
  constexpr int64_t threads_a_block() const { return nest_threads / lanes; }  // of a channel

  // Positions are counted in 31 bits.
  static constexpr bool fits(const Axes& extents) {
    constexpr int64_t most = int64_t{1} << 30;
    return extents.d < most && extents.h < most && extents.w < most && extents.d * extents.h < most &&
           extents.d * extents.h * extents.w < most;
  }
  // Iterations of a block, which loads its weights once: more if there are enough blocks for all compute units.
  constexpr int64_t rounds(const ConvSizes& sizes, const GpuMachine& gpu) const {
    constexpr int64_t most_rounds = 8;
    const int64_t enough_blocks = int64_t{gpu.compute_units} * 8;
    const int64_t blocks = sizes.batch * channel_blocks() * divide_up(grid(sizes).product(), threads_a_block());
    return larger(smaller(blocks / enough_blocks, most_rounds), 1);
  }
  constexpr int64_t blocks_a_channel(const ConvSizes& sizes, const GpuMachine& gpu) const {
    return divide_up(grid(sizes).product(), threads_a_block() * rounds(sizes, gpu));
  }
  // Not possible if the sizes do not fit.
  constexpr int64_t blocks(const ConvSizes& sizes, const GpuMachine& gpu) const {
    if (!fits(sizes.input) || !fits(sizes.output)) return INT64_MAX;
    return sizes.batch * channel_blocks() * blocks_a_channel(sizes, gpu);
  }

  constexpr ChannelwiseLaunch launch(const ConvSizes& sizes, const GpuMachine& gpu) const {
    const Axes counted = grid(sizes);
    return {rounds(sizes, gpu),
            Divisor::of(blocks_a_channel(sizes, gpu)),
            Divisor::of(channel_blocks()),
            Divisor::of(counted.w),
            Divisor::of(counted.h),
            skipped(sizes)};
  }
};

// Strides in elements: of images, of blocks of channels, and of the axes.
struct ChannelwiseView {
  int64_t batch, block, d, h, w;
};

template <class Input, class Output>
struct ChannelwiseArguments {
  const Input* input;
  const float* weights;
  Output* output;
  ConvSizes sizes;
  ChannelwiseView input_view, output_view;
  ChannelwiseLaunch launch;
};

}  // namespace onnxc::kernels
