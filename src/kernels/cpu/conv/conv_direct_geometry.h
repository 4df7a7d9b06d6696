// The direct convolution (conv_direct.h, conv_stem.h): how its weights are packed, and how its work is cut into tasks.
//
// Activations are NCHWc (nCdhw{lanes}c): blocks of `lanes` channels, the padding of the last block holds zero.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// The largest pooling window, in voxels, that a convolution kernel fuses (conv_pooled.h): its voxels are in registers.
constexpr int64_t largest_pooled_window = 8;

// Whether each group is a whole number of blocks of channels on both sides; inputs have blocks of `input_lanes`
// channels: the target's `lanes`, or 1 for NCDHW (conv_stem.h).
constexpr bool has_whole_blocks(const ConvShape& shape, int vector_lanes, int input_lanes) {
  if (shape.groups == 1) return true;
  return shape.group_input_channels() % input_lanes == 0 && shape.group_output_channels() % vector_lanes == 0;
}

constexpr int64_t greatest_common_divisor(int64_t a, int64_t b) {
  return b == 0 ? a : greatest_common_divisor(b, a % b);
}

// Packed weights: [group][chunk of output blocks][input block][kd][kh][kw][input channel in block][output block in
// chunk][lane]. With `element_channels` = 2 an element is a pair of bfloat16, the weights of two neighbouring input
// channels; "input channel" then counts pairs. The outputs of a group are cut into blocks from its first one on,
// wherever that lies in a block of the tensor. A chunk is what one register tile computes: two output blocks, but three
// for the last chunk of an odd number, or one when there is only one. The inputs of a group are cut at the begins of
// the tensor's blocks: the first and the last "input block" may hold few of its channels. With a single group the last
// input block has its channels rounded up to `reduction_step`, not to `lanes`. Padding is zero.
struct DirectPacking {
  ConvShape shape;
  int lanes;
  int input_lanes;
  int element_channels = 1;

  // Whether a block of the input, or of the output, may hold channels of several groups.
  constexpr bool shares_input_blocks() const {
    return shape.groups > 1 && shape.group_input_channels() % input_lanes != 0;
  }
  constexpr bool shares_output_blocks() const { return shape.groups > 1 && shape.group_output_channels() % lanes != 0; }

  // Elements of an input block.
  constexpr int64_t block_depth() const { return input_lanes / element_channels; }
  // Divides the depth of every input block.
  constexpr int64_t reduction_step() const {
    const int64_t most = smaller(4, block_depth());
    return shares_input_blocks() ? greatest_common_divisor(shape.group_input_channels(), most) : most;
  }
  // The input blocks of a group; groups that lie more favourably leave the last ones empty.
  constexpr int64_t input_blocks() const {
    const int64_t channels = shape.group_input_channels();
    const int64_t worst_lane = shares_input_blocks() ? input_lanes - greatest_common_divisor(channels, input_lanes) : 0;
    return divide_up(worst_lane + channels, input_lanes);
  }
  constexpr int64_t output_blocks() const { return divide_up(shape.group_output_channels(), lanes); }
  constexpr int64_t chunks() const { return larger(1, output_blocks() / 2); }
  constexpr int64_t first_block(int64_t chunk) const { return 2 * chunk; }
  constexpr int64_t chunk_blocks(int64_t chunk) const {
    return chunk + 1 < chunks() ? 2 : output_blocks() - first_block(chunk);
  }

  // The lane of a group's first input channel.
  constexpr int64_t first_lane(int64_t group) const {
    return shares_input_blocks() ? group * shape.group_input_channels() % input_lanes : 0;
  }
  // The lane of its first channel in an input block.
  constexpr int64_t first_lane(int64_t group, int64_t input_block) const {
    return input_block == 0 ? first_lane(group) : 0;
  }
  // Elements of the input blocks before this one.
  constexpr int64_t elements_before(int64_t group, int64_t input_block) const {
    if (!shares_input_blocks()) return input_block * block_depth();
    return larger(0, smaller(shape.group_input_channels(), input_block * input_lanes - first_lane(group)));
  }
  // Elements, with padding, that are packed for an input block.
  constexpr int64_t depth(int64_t group, int64_t input_block) const {
    if (shares_input_blocks()) return elements_before(group, input_block + 1) - elements_before(group, input_block);
    const int64_t channels = shape.group_input_channels() - input_block * input_lanes;
    return smaller(block_depth(), round_up(divide_up(channels, element_channels), reduction_step()));
  }
  // If no block is shared, all groups have the same.
  constexpr int64_t depth(int64_t input_block) const { return depth(0, input_block); }
  constexpr int64_t total_depth() const {
    return shares_input_blocks() ? shape.group_input_channels()
                                 : (input_blocks() - 1) * block_depth() + depth(input_blocks() - 1);
  }

  constexpr int64_t channel_stride(int64_t blocks) const { return blocks * lanes; }
  constexpr int64_t tap_stride(int64_t blocks, int64_t group, int64_t input_block) const {
    return depth(group, input_block) * channel_stride(blocks);
  }
  constexpr int64_t input_block_offset(int64_t blocks, int64_t group, int64_t input_block) const {
    return elements_before(group, input_block) * shape.kernel.product() *
           channel_stride(blocks);  // all blocks before the last are full
  }
  constexpr int64_t chunk_offset(int64_t group, int64_t chunk) const {
    return (group * output_blocks() + first_block(chunk)) * lanes * total_depth() * shape.kernel.product();
  }
  constexpr int64_t size() const { return chunk_offset(shape.groups, 0); }

  // The offset of the element with a weight, given its output channel and input channel (both counted within the group)
  // and its kernel tap (kd, kh, kw in row-major order).
  constexpr int64_t offset(int64_t group, int64_t output_channel, int64_t input_channel, int64_t tap) const {
    const int64_t block = output_channel / lanes;
    const int64_t chunk = smaller(block / 2, chunks() - 1);
    const int64_t blocks = chunk_blocks(chunk);
    const int64_t input_block = (first_lane(group) + input_channel) / input_lanes;
    const int64_t element = input_channel / element_channels - elements_before(group, input_block);
    return chunk_offset(group, chunk) + input_block_offset(blocks, group, input_block) +
           tap * tap_stride(blocks, group, input_block) + element * channel_stride(blocks) +
           (block - first_block(chunk)) * lanes + output_channel % lanes;
  }
};

// A task computes one chunk of output channels for a range of voxels of one image, voxels in row-major order over (d,
// h, w).
struct DirectGeometry {
  int64_t range_voxels;           // of a task; the last range may be shorter
  int64_t ranges;                 // of an image
  int64_t chunks;                 // over all groups
  int64_t input_blocks_per_pass;  // whose weights stay in the second-level cache while a range is swept
  KernelWork work;
};

// Whether the second-level cache cannot hold the weights: they come from memory for each range of voxels.
constexpr bool direct_streams_weights(const DirectPacking& packing) {
  return packing.size() * static_cast<int64_t>(sizeof(float)) > second_level_cache;
}

constexpr DirectGeometry direct_geometry(const DirectPacking& packing, const ConvSizes& sizes) {
  // Limits on a task's voxels, in register tiles: fewer would read the weights too often, more would push the input out
  // of the cache. Weights that come from memory are read as rarely as the number of tasks allows.
  constexpr int64_t most_tiles = 24, pass_bytes = 256 * 1024;
  const bool streams_weights = direct_streams_weights(packing);
  const int64_t least_tiles = streams_weights ? 9 : 4, wished_tasks = streams_weights ? 16 : 64;
  const int64_t tile = machine::vector_unit(packing.lanes).tile_rows();
  const int64_t voxels = sizes.output.product();
  const int64_t chunks = packing.shape.groups * packing.chunks();
  const int64_t wished = divide_up(sizes.batch * voxels * chunks, wished_tasks);
  const int64_t most = larger(least_tiles * tile, smaller(most_tiles * tile, wished));
  const int64_t ranges = divide_up(voxels, most);
  const int64_t range_voxels = ranges == 0 ? 0 : smaller(voxels, round_up(divide_up(voxels, ranges), tile));
  const int64_t block_bytes = packing.block_depth() * packing.shape.kernel.product() * packing.channel_stride(2) *
                              static_cast<int64_t>(sizeof(float));
  const int64_t per_pass = larger(1, pass_bytes / block_bytes);
  const bool several_passes = per_pass < packing.input_blocks();
  // Whole tiles are kept; a tile has at most `lanes` voxels and three blocks.
  const int64_t partial_sums = several_passes ? (range_voxels + packing.lanes) * 3 * packing.lanes : 0;
  const int64_t exact_ranges = range_voxels == 0 ? 0 : divide_up(voxels, range_voxels);
  return {range_voxels,
          exact_ranges,
          chunks,
          per_pass,
          {sizes.batch * exact_ranges * chunks, partial_sums * static_cast<int64_t>(sizeof(float))}};
}

}  // namespace onnxc::kernels
