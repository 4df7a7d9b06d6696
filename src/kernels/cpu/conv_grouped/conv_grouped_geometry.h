// The contract of the compiler, the weight packer and the kernel for groups of few channels (conv_grouped.h).
#pragma once

#include "kernels/cpu/conv_transpose/conv_transpose_geometry.h"

namespace onnxc::kernels {

// Packed weights: [block of output channels][kd][kh][input channel of the group][kw][lane]; the padding of the last
// block is zero.
struct GroupedPacking {
  ConvShape shape;
  int lanes;

  constexpr int64_t inputs() const { return shape.group_input_channels(); }  // that an output reads
  constexpr int64_t blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t row_size() const { return shape.kernel.w * lanes; }
  constexpr int64_t block_size() const { return shape.kernel.product() * inputs() * lanes; }
  constexpr int64_t size() const { return blocks() * block_size(); }
  // The offset of the weight of output `channel` for input number `input` of its group.
  constexpr int64_t offset(int64_t channel, int64_t input, int64_t tap) const {
    return channel / lanes * block_size() + (tap / shape.kernel.w * inputs() + input) * row_size() +
           tap % shape.kernel.w * lanes + channel % lanes;
  }

  // The first input channel of the group of an output channel; what pads the last block reads what its last channel
  // does.
  constexpr int64_t first_input(int64_t channel) const {
    return smaller(channel, shape.output_channels - 1) / shape.group_output_channels() * inputs();
  }
  // Blocks of input channels that hold input number `input` of the groups in a block of outputs.
  constexpr int64_t sources(int64_t block, int64_t input) const {
    return (first_input(block * lanes + lanes - 1) + input) / lanes - (first_input(block * lanes) + input) / lanes + 1;
  }
  // Whether a kernel for all of them is written out, without a loop.
  constexpr bool has_few_sources() const { return most_sources() <= 5; }
  // So many at most; after as many blocks as a group has outputs all is as before.
  constexpr int64_t most_sources() const {
    int64_t most = 1;
    for (int64_t block = 0; block < smaller(blocks(), shape.group_output_channels()); ++block)
      for (int64_t input = 0; input < inputs(); ++input) most = larger(most, sources(block, input));
    return most;
  }
};

// Groups of fewer outputs than two vectors have lanes; of more conv_direct.h has nearly full ones.
constexpr bool grouped_supports(const ConvShape& shape, int vector_lanes) {
  constexpr int64_t most_inputs = 64;
  return shape.groups > 1 && shape.group_output_channels() < 2 * int64_t{vector_lanes} &&
         shape.group_input_channels() <= most_inputs;
}

// The taps that an output reads along one axis: tap `tap` + n * tap_step reads position `input` + n * input_step.
struct GroupedTaps {
  int64_t count;
  int64_t tap, tap_step;
  int64_t input, input_step;
};

// One axis of a convolution, or of a transposed one.
struct GroupedAxis {
  int64_t kernel, stride, dilation;
  bool is_transposed;

  constexpr TransposedAxis transposed() const { return {kernel, stride, dilation}; }
  constexpr int64_t tap_step() const { return is_transposed ? transposed().tap_distance() : 1; }
  constexpr int64_t input_step() const { return is_transposed ? -transposed().sub_dilation() : dilation; }
  constexpr int64_t most_taps() const { return is_transposed ? transposed().most_taps() : kernel; }
  // Outputs that are so far apart read the same taps: `output_step` of the input apart.
  constexpr int64_t phases() const { return is_transposed ? stride : 1; }
  constexpr int64_t output_step() const { return is_transposed ? 1 : stride; }

  // All taps, also those that read outside of the input.
  constexpr GroupedTaps taps(int64_t output, int64_t pad) const {
    if (!is_transposed) return {kernel, 0, 1, output * stride - pad, dilation};
    const TransposedAxis axis = transposed();
    const int64_t first = axis.first_tap(((output + pad) % stride + stride) % stride);
    const int64_t count = axis.taps_from(first);
    return {count, first, tap_step(), count == 0 ? 0 : (output + pad - first * dilation) / stride, input_step()};
  }
  // Those that read inside of it.
  constexpr GroupedTaps taps_inside(int64_t output, int64_t pad, int64_t extent) const {
    GroupedTaps all = taps(output, pad);
    const int64_t step = is_transposed ? -all.input_step : all.input_step;
    const int64_t from_end = is_transposed ? extent - 1 - all.input : all.input;
    const int64_t begin = from_end >= 0 ? 0 : smaller(all.count, divide_up(-from_end, step));
    const int64_t end = from_end >= extent ? 0 : smaller(all.count, divide_up(extent - from_end, step));
    return {larger(0, end - begin), all.tap + begin * all.tap_step, all.tap_step, all.input + begin * all.input_step,
            all.input_step};
  }
};

// A task computes a band of rows of some planes of outputs of one channel block. The rows of input that it reads stay
// in the second-level cache.
struct GroupedGeometry {
  int64_t band_rows, bands;
  int64_t range_planes, ranges;
  KernelWork work;
};

constexpr GroupedGeometry grouped_geometry(const GroupedPacking& packing, bool is_transposed, const ConvSizes& sizes) {
  constexpr int64_t second_level_bytes = 192 * 1024, least_rows = 4, least_task_bytes = 64 * 1024, wished_tasks = 64;
  if (sizes.batch == 0 || sizes.output.product() == 0) return {0, 0, 0, 0, {0, 0}};
  const ConvShape& shape = packing.shape;
  const auto row_bytes = [&](int64_t width) { return width * packing.lanes * static_cast<int64_t>(sizeof(float)); };
  const GroupedAxis depth{shape.kernel.d, shape.stride.d, shape.dilation.d, is_transposed};
  const int64_t input_bytes = larger(1, depth.most_taps() * row_bytes(sizes.input.w));
  const int64_t input_rows = second_level_bytes / input_bytes;
  const int64_t fitting_rows = is_transposed ? input_rows * shape.stride.h : input_rows / shape.stride.h;
  const int64_t bands = divide_up(sizes.output.h, larger(least_rows, fitting_rows));
  const int64_t band_rows = divide_up(sizes.output.h, bands);
  const int64_t exact_bands = divide_up(sizes.output.h, band_rows);

  const int64_t wished_ranges = divide_up(wished_tasks, sizes.batch * packing.blocks() * exact_bands);
  const int64_t least_planes = divide_up(least_task_bytes, row_bytes(sizes.output.w) * band_rows);
  const int64_t range_planes = smaller(sizes.output.d, larger(least_planes, divide_up(sizes.output.d, wished_ranges)));
  const int64_t ranges = divide_up(sizes.output.d, range_planes);
  return {band_rows, exact_bands, range_planes, ranges, {sizes.batch * packing.blocks() * exact_bands * ranges, 0}};
}

}  // namespace onnxc::kernels
