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
};

// One of depth, height and width.
constexpr int64_t along(const Axes& axes, int axis) { return axis == 0 ? axes.d : axis == 1 ? axes.h : axes.w; }

// A convolution of groups of few channels; the kernel's template argument.
struct ChannelwisePlan {
  ConvShape shape;
  int64_t lanes = 16;         // of a block of channels; 1: each channel has a stride of its own
  int64_t output_lanes = 16;  // the same of the output

  constexpr bool operator==(const ChannelwisePlan&) const = default;

  constexpr int64_t taps() const { return shape.kernel.product(); }

  // A thread computes adjacent outputs along one axis, so that an element it loads serves several of them: along the
  // height, if there is one, since its neighbours along the width belong to neighbouring threads.
  constexpr int slide() const { return shape.kernel.h > 1 ? 1 : 2; }
  constexpr int64_t outputs() const { return 4; }
  // Elements of the input that they need along that axis, without gaps.
  constexpr int64_t span() const {
    return (outputs() - 1) * along(shape.stride, slide()) +
           (along(shape.kernel, slide()) - 1) * along(shape.dilation, slide()) + 1;
  }

  // Weights are floats, [block of output channels][tap][input channel of the group][lane].
  constexpr int64_t channel_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t block_weights() const { return taps() * shape.group_input_channels() * lanes; }
  constexpr int64_t weight_offset(int64_t channel, int64_t tap, int64_t input) const {
    return channel / lanes * block_weights() + (tap * shape.group_input_channels() + input) * lanes + channel % lanes;
  }
  constexpr int64_t weight_count() const { return channel_blocks() * block_weights(); }
  constexpr int64_t lds_bytes() const { return block_weights() * 4; }

  // Outputs of a thread counted along each axis.
  constexpr Axes grid(const Axes& output) const {
    return {output.d, slide() == 1 ? divide_up(output.h, outputs()) : output.h,
            slide() == 2 ? divide_up(output.w, outputs()) : output.w};
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
    const int64_t blocks = sizes.batch * channel_blocks() * divide_up(grid(sizes.output).product(), threads_a_block());
    return larger(smaller(blocks / enough_blocks, most_rounds), 1);
  }
  constexpr int64_t blocks_a_channel(const ConvSizes& sizes, const GpuMachine& gpu) const {
    return divide_up(grid(sizes.output).product(), threads_a_block() * rounds(sizes, gpu));
  }
  // Not possible if the sizes do not fit.
  constexpr int64_t blocks(const ConvSizes& sizes, const GpuMachine& gpu) const {
    if (!fits(sizes.input) || !fits(sizes.output)) return INT64_MAX;
    return sizes.batch * channel_blocks() * blocks_a_channel(sizes, gpu);
  }

  constexpr ChannelwiseLaunch launch(const ConvSizes& sizes, const GpuMachine& gpu) const {
    const Axes counted = grid(sizes.output);
    return {rounds(sizes, gpu), Divisor::of(blocks_a_channel(sizes, gpu)), Divisor::of(channel_blocks()),
            Divisor::of(counted.w), Divisor::of(counted.h)};
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
