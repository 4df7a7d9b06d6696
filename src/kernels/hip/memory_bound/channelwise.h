// Convolution with few channels a group (depthwise: one), also transposed, rank 1 to 3, any stride, dilation and pads
// (also negative); activations stored as float, float16 or bfloat16, sums in float32.
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
// A transposed output is a sum over the taps t for which output + pad - t * dilation is a multiple of the stride. Along
// the height a thread begins at a multiple of the stride and computes whole strides, about eight outputs. Which taps
// each reads is known when the kernel is compiled. Along the other axes a thread finds its first tap by the residue,
// and walks to the next ones. No thread visits a tap that it does not read, and one launch writes all residues.
//
// Bound by: memory, or its path through the first-level cache: for 3x3x3 at stride 1 a thread loads 54 elements for 108
// products. Transposed ones are bound by memory, mostly by writes: on gfx942's model 2x2x2 at stride 2, a wavelet,
// takes memory's 9.0 us for 36 MiB. The vector unit bounds 4x4x4 at stride 2, with eight products an output: 13.6 us.
//
// Limits: groups of at most 16 input channels. A transposed convolution has a stride of at most 16 along the height or
// the width. The caller ensures both.
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
  // The index is not negative: that takes fewer instructions than a product of signed numbers.
  __device__ static int64_t offset(int32_t index, int64_t step) {
    return static_cast<int64_t>(static_cast<uint32_t>(index)) * step;
  }
  __device__ Place place(int axis, int32_t position) const {
    const auto size = static_cast<int32_t>(along(arguments.sizes.input, axis));
    const bool is_inside = static_cast<uint32_t>(position) < static_cast<uint32_t>(size);
    const int32_t kept = position < 0 ? 0 : position < size ? position : size - 1;
    return {offset(kept, stride_of(arguments.input_view, axis)), is_inside};
  }
  // The input position of tap 0.
  __device__ int32_t first_position(int axis, int32_t output) const {
    return output * static_cast<int32_t>(along(shape.stride, axis)) -
           static_cast<int32_t>(along(arguments.sizes.begin_pads, axis));
  }
  // The input position of the first element of a thread's span. A transposed thread begins at a multiple of the stride.
  __device__ int32_t first_of_span(int32_t output) const {
    if (!plan.transposed) return first_position(slide, output);
    const auto padded = output + static_cast<int32_t>(along(arguments.sizes.begin_pads, slide));
    return quotient(padded, stride) - static_cast<int32_t>(plan.taps_along(slide).reach());
  }
  // Rounded down.
  __device__ static int32_t quotient(int32_t number, int32_t divisor) {
    if ((divisor & (divisor - 1)) == 0) return number >> __builtin_ctz(static_cast<uint32_t>(divisor));
    return (number < 0 ? number - (divisor - 1) : number) / divisor;
  }

  // A tap that an output reads along an axis on which threads do not slide, and the position it reads. If an output of
  // a transposed convolution reads none, its first tap is past the last.
  struct Walk {
    int tap;
    int32_t position;
  };
  __device__ Walk first_tap(int axis, int32_t output) const {
    if (!plan.transposed) return {0, first_position(axis, output)};
    const auto by = static_cast<int32_t>(along(shape.stride, axis)),
               spread = static_cast<int32_t>(along(shape.dilation, axis));
    const int32_t padded = output + static_cast<int32_t>(along(arguments.sizes.begin_pads, axis)),
                  whole = quotient(padded, by), rest = padded - whole * by;
    int tap = spread == 1 ? rest : 0;
    while (spread != 1 && tap < along(shape.kernel, axis) && tap * spread % by != rest) ++tap;
    return {tap, whole - (tap * spread - rest) / by};
  }
  __device__ static void next_tap(int axis, Walk& walk) {
    const TransposedTaps taps = plan.taps_along(axis);
    walk.tap += plan.transposed ? static_cast<int>(taps.step()) : 1;
    walk.position += static_cast<int32_t>(plan.transposed ? -taps.back() : taps.dilation);
  }
  // How many taps an output reads at most; some have fewer if they are not even.
  __device__ static constexpr int most_taps(int axis) {
    const TransposedTaps taps = plan.taps_along(axis);
    return static_cast<int>(plan.transposed ? divide_up(taps.kernel, taps.step()) : taps.kernel);
  }
  __device__ static bool is_past_last(int axis, const Walk& walk) {
    if (!plan.transposed || plan.taps_along(axis).are_even()) return false;
    return walk.tap >= along(shape.kernel, axis);
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
      const Place on_slide = place(slide, first_of_span(at[slide]) + i);
      offsets[i] = on_slide.offset;
      mask |= static_cast<uint32_t>(on_slide.is_inside) << i;
    }
    Walk a = first_tap(outer, at[outer]);
    const Walk first_inner = first_tap(inner, at[inner]);
#pragma clang loop unroll(disable)
    for (int i = 0; i < most_taps(outer) && !is_past_last(outer, a); ++i, next_tap(outer, a)) {
      const Place on_outer = place(outer, a.position);
      Walk c = first_inner;
#pragma clang loop unroll(disable)
      for (int k = 0; k < most_taps(inner) && !is_past_last(inner, c); ++k, next_tap(inner, c)) {
        const Place on_inner = place(inner, c.position);
        const int64_t row = on_outer.offset + on_inner.offset;
        const uint32_t inside = on_outer.is_inside & on_inner.is_inside ? mask : 0;
        // One copy of it: what is gained on more would be lost in scalar registers and the instruction cache.
#pragma clang loop unroll(disable)
        for (int input = 0; input < inputs; ++input) {
          float values[span];
          load(plane(input) + row, offsets, inside, values);
          add(values, tap_of(a.tap, 0, c.tap), input, sums);
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

  // Whether an output of the thread reads a tap of the row (output - tap * dilation is a multiple of the stride), and
  // at which element of the span.
  __device__ static constexpr bool is_read(int output, int tap) {
    return !plan.transposed || (output + tap * (stride - 1) * dilation) % stride == 0;
  }
  __device__ static constexpr int place_in_span(int output, int tap) {
    if (!plan.transposed) return output * stride + tap * dilation;
    return static_cast<int>(plan.taps_along(slide).reach()) + (output - tap * dilation) / stride;
  }
  // `tap` is the first of the row.
  __device__ void add(const float (&values)[span], int tap, int input, float (&sums)[outputs]) const {
    constexpr int step = slide == 1 ? static_cast<int>(shape.kernel.w) : 1;
#pragma clang loop unroll(full)
    for (int b = 0; b < kernel; ++b) {
      const float factor = weight(tap + b * step, input);
#pragma clang loop unroll(full)
      for (int i = 0; i < outputs; ++i)
        if (is_read(i, b)) sums[i] += values[place_in_span(i, b)] * factor;
    }
  }

  template <class Epilogue>
  __device__ void compute(const Epilogue& epilogue, uint32_t which) const {
    const Axes grid = plan.grid(arguments.sizes);
    if (which >= grid.product()) return;
    const uint32_t row = arguments.launch.width.quotient(which);
    int32_t at[3] = {static_cast<int32_t>(arguments.launch.height.quotient(row)),
                     static_cast<int32_t>(arguments.launch.height.remainder(row)),
                     static_cast<int32_t>(arguments.launch.width.remainder(which))};
    at[slide] = at[slide] * outputs - static_cast<int32_t>(arguments.launch.skipped);
    float sums[outputs];
    sum(at, sums);
    constexpr auto channels = static_cast<int>(shape.output_channels);
    if (plan.output_lanes == 1 && channel >= channels) return;
    const ChannelwiseView& view = arguments.output_view;
    const auto size = static_cast<int32_t>(along(arguments.sizes.output, slide));
    const int64_t step = stride_of(view, slide);
    int64_t to = offset(at[outer], view.d) + offset(at[inner], stride_of(view, inner)) + at[slide] * step;
    const int64_t group = channel / static_cast<int>(shape.group_output_channels());
#pragma clang loop unroll(full)
    for (int i = 0; i < outputs; ++i, ++at[slide], to += step) {
      // The first ones of a transposed convolution may be negative.
      if (static_cast<uint32_t>(at[slide]) >= static_cast<uint32_t>(size)) continue;
      // The padding of the last block of channels holds zeros.
      const float value = channel < channels ? epilogue(sums[i], image, group, channel, at[0], at[1], at[2]) : 0.0f;
      output_plane[to] = static_cast<Output>(value);
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
