// Convolution with few channels a group (depthwise: one), rank 1 to 3, any stride, dilation and pads (also negative);
// activations stored as float, float16 or bfloat16, sums in float32.
//
// Problem: output[n, o, voxel] = sum over taps and the few input channels of o's group. It has no matrix product that
// would fill the matrix unit.
//
// Method: in nCdhw16c 16 lanes are the channels of a voxel and a wavefront has four adjacent voxels: each load is 256
// contiguous bytes. A thread computes four outputs along the height (in one dimension along the width) and loads what
// they share once, for each tap of the other axes. A block of threads holds its weights in LDS and loops over several
// tiles of voxels. In NCHW a block has one channel, and lanes are voxels. An element outside the input is read from the
// input's edge and replaced by zero, so that no load needs a branch.
//
// Bound by: memory, or its path through the first-level cache: for 3x3x3 at stride 1 a thread loads 54 elements for 108
// products. Limits: groups of at most 16 input channels, which the caller ensures.
#pragma once

#include "kernels/hip/memory_bound/channelwise_geometry.h"
#include "kernels/hip/wave/nest.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <ChannelwisePlan plan, class Input, class Output>
struct Channelwise {
  // A reference: a copy would become a constant in GPU memory, which the compiler does not see through.
  static constexpr const ConvShape& shape = plan.shape;
  static constexpr auto lanes = static_cast<int>(plan.lanes), outputs = static_cast<int>(plan.outputs());
  static constexpr auto inputs = static_cast<int>(shape.group_input_channels());
  // The axis that outputs of a thread lie along, and the others.
  static constexpr int slide = plan.slide(), outer = 0, inner = slide == 1 ? 2 : 1;
  static constexpr auto span = static_cast<int>(plan.span());
  static constexpr auto stride = static_cast<int>(along(shape.stride, slide)),
                        dilation = static_cast<int>(along(shape.dilation, slide)),
                        kernel = static_cast<int>(along(shape.kernel, slide));

  const ChannelwiseArguments<Input, Output>& arguments;
  const float* shared_weights;  // of this lane, in LDS
  int64_t image;
  int channel;
  int first_input;  // the first channel of the group
  const Input* input_image;
  Output* output_plane;

  // An index outside the input becomes that of the input's edge.
  struct Place {
    int64_t offset;
    bool is_inside;
  };
  __device__ static int64_t stride_of(const ChannelwiseView& view, int axis) {
    return axis == 0 ? view.d : axis == 1 ? view.h : view.w;
  }
  __device__ Place place(int axis, int32_t position) const {
    const auto size = static_cast<int32_t>(along(arguments.sizes.input, axis));
    const bool is_inside = static_cast<uint32_t>(position) < static_cast<uint32_t>(size);
    const int32_t kept = position < 0 ? 0 : position < size ? position : size - 1;
    return {kept * stride_of(arguments.input_view, axis), is_inside};
  }
  // The input position of tap 0.
  __device__ int32_t first_position(int axis, int32_t output) const {
    return output * static_cast<int32_t>(along(shape.stride, axis)) -
           static_cast<int32_t>(along(arguments.sizes.begin_pads, axis));
  }

  __device__ Channelwise(const ChannelwiseArguments<Input, Output>& arguments_, float* weights, uint32_t channel_block)
      : arguments(arguments_) {
    image = arguments.launch.channel_blocks.quotient(channel_block);
    const auto block = static_cast<int>(arguments.launch.channel_blocks.remainder(channel_block));
    const int lane = thread_index() % lanes;
    channel = block * lanes + lane;
    const float* const packed = arguments.weights + block * plan.block_weights();
    for (int i = thread_index(); i < plan.block_weights(); i += nest_threads) weights[i] = packed[i];
    barrier();
    shared_weights = weights + lane;
    constexpr auto channels = static_cast<int>(shape.output_channels);
    // Lanes that pad the last block read as the last channel does.
    const int real = channel < channels ? channel : channels - 1;
    first_input = real / static_cast<int>(shape.group_output_channels()) * inputs;
    input_image = arguments.input + image * arguments.input_view.batch;
    constexpr auto output_lanes = static_cast<int>(plan.output_lanes);
    output_plane = arguments.output + image * arguments.output_view.batch +
                   (channel / output_lanes * arguments.output_view.block + channel % output_lanes);
  }

  __device__ const Input* plane(int input) const {
    const int at = first_input + input;
    return input_image + (at / lanes * arguments.input_view.block + at % lanes);
  }
  __device__ float weight(int tap, int input) const { return shared_weights[(tap * inputs + input) * lanes]; }
  __device__ static int tap_of(int a, int b, int c) {
    const int d = a, h = slide == 1 ? b : c, w = slide == 1 ? c : b;
    return (d * static_cast<int>(shape.kernel.h) + h) * static_cast<int>(shape.kernel.w) + w;
  }

  // The four outputs that begin at `at`.
  __device__ void sum(const int32_t (&at)[3], float (&sums)[outputs]) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < outputs; ++i) sums[i] = 0;
    if (arguments.sizes.input.product() == 0) return;
    int64_t offsets[span];
    uint32_t mask = 0;  // a bit for each that is inside
#pragma clang loop unroll(full)
    for (int i = 0; i < span; ++i) {
      const Place on_slide = place(slide, first_position(slide, at[slide]) + i);
      offsets[i] = on_slide.offset;
      mask |= static_cast<uint32_t>(on_slide.is_inside) << i;
    }
    const int32_t first_outer = first_position(outer, at[outer]), first_inner = first_position(inner, at[inner]);
#pragma clang loop unroll(disable)
    for (int a = 0; a < along(shape.kernel, outer); ++a) {
      const Place on_outer = place(outer, first_outer + a * static_cast<int32_t>(along(shape.dilation, outer)));
#pragma clang loop unroll(disable)
      for (int c = 0; c < along(shape.kernel, inner); ++c) {
        const Place on_inner = place(inner, first_inner + c * static_cast<int32_t>(along(shape.dilation, inner)));
        const int64_t offset = on_outer.offset + on_inner.offset;
        const uint32_t inside = on_outer.is_inside & on_inner.is_inside ? mask : 0;
        // One copy of it: what is gained on more would be lost in scalar registers and the instruction cache.
#pragma clang loop unroll(disable)
        for (int input = 0; input < inputs; ++input) {
          float values[span];
          load(plane(input) + offset, offsets, inside, values);
          add(values, tap_of(a, 0, c), input, sums);
        }
      }
    }
  }

  __device__ static void load(const Input* row, const int64_t (&offsets)[span], uint32_t inside,
                              float (&values)[span]) {
#pragma clang loop unroll(full)
    for (int i = 0; i < span; ++i) values[i] = static_cast<float>(row[offsets[i]]);
    // All bits if it is inside, else none: a condition for each element would need too many scalar registers.
#pragma clang loop unroll(full)
    for (int i = 0; i < span; ++i) {
      const int32_t kept = static_cast<int32_t>(inside << (31 - i)) >> 31;
      values[i] = __builtin_bit_cast(float, __builtin_bit_cast(int32_t, values[i]) & kept);
    }
  }

  // `tap` is the first of the row.
  __device__ void add(const float (&values)[span], int tap, int input, float (&sums)[outputs]) const {
    constexpr int step = slide == 1 ? static_cast<int>(shape.kernel.w) : 1;
#pragma clang loop unroll(full)
    for (int b = 0; b < kernel; ++b) {
      const float factor = weight(tap + b * step, input);
#pragma clang loop unroll(full)
      for (int i = 0; i < outputs; ++i) sums[i] += values[i * stride + b * dilation] * factor;
    }
  }

  template <class Epilogue>
  __device__ void compute(const Epilogue& epilogue, uint32_t which) const {
    const Axes grid = plan.grid(arguments.sizes.output);
    if (which >= grid.product()) return;
    const uint32_t row = arguments.launch.width.quotient(which);
    int32_t at[3] = {static_cast<int32_t>(arguments.launch.height.quotient(row)),
                     static_cast<int32_t>(arguments.launch.height.remainder(row)),
                     static_cast<int32_t>(arguments.launch.width.remainder(which))};
    at[slide] *= outputs;
    float sums[outputs];
    sum(at, sums);
    constexpr auto channels = static_cast<int>(shape.output_channels);
    if (plan.output_lanes == 1 && channel >= channels) return;
    const ChannelwiseView& view = arguments.output_view;
    const int64_t size = along(arguments.sizes.output, slide);
    const int64_t group = channel / static_cast<int>(shape.group_output_channels());
#pragma clang loop unroll(full)
    for (int i = 0; i < outputs; ++i) {
      if (at[slide] >= size) return;
      // The padding of the last block of channels holds zeros.
      const float value = channel < channels ? epilogue(sums[i], image, group, channel, at[0], at[1], at[2]) : 0.0f;
      output_plane[at[0] * view.d + at[1] * view.h + at[2] * view.w] = static_cast<Output>(value);
      ++at[slide];
    }
  }
};

template <ChannelwisePlan plan, class Input, class Output, class Epilogue>
__device__ inline void channelwise(const ChannelwiseArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  __shared__ float weights[plan.block_weights()];
  const auto block = static_cast<uint32_t>(block_index());
  const Channelwise<plan, Input, Output> convolution(arguments, weights,
                                                     arguments.launch.blocks_a_channel.quotient(block));
  const auto first =
      arguments.launch.blocks_a_channel.remainder(block) * static_cast<uint32_t>(arguments.launch.rounds);
  constexpr auto threads = static_cast<uint32_t>(plan.threads_a_block()), lanes = static_cast<uint32_t>(plan.lanes);
#pragma clang loop unroll(disable)
  for (uint32_t round = first; round < first + static_cast<uint32_t>(arguments.launch.rounds); ++round)
    convolution.compute(epilogue, round * threads + static_cast<uint32_t>(thread_index()) / lanes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
