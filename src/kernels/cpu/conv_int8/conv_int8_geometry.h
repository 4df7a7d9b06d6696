// The convolution of bytes (conv_int8.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv/conv_strip.h"

namespace onnxc::kernels {

// Packed weights, in bytes: for each chunk of one or two blocks of output channels [plane of taps][block][output]
// int32, with which the sums of that plane begin, and [block of input channels][tap][quad of input
// channels][block][output][of the quad] int8.
struct Int8Packing {
  ConvShape shape;
  int lanes;

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, lanes); }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), 2); }
  constexpr int64_t chunk_blocks(int64_t chunk) const { return smaller(2, output_blocks() - 2 * chunk); }
  // Quads of a block of input channels that hold any.
  constexpr int64_t quads(int64_t input_block) const {
    return divide_up(smaller(lanes, shape.input_channels - input_block * lanes), 4);
  }
  constexpr int64_t vector_bytes() const { return int64_t{lanes} * 4; }
  constexpr int64_t steps() const { return shape.kernel.product() * divide_up(shape.input_channels, 4); }
  constexpr int64_t chunk_offset(int64_t chunk) const {
    return 2 * chunk * vector_bytes() * (shape.kernel.d + steps());
  }
  constexpr int64_t size() const { return output_blocks() * vector_bytes() * (shape.kernel.d + steps()); }
  // Of the start of an output channel's sum over a plane of taps.
  constexpr int64_t start_offset(int64_t output, int64_t kd) const {
    const int64_t block = output / lanes, chunk = block / 2;
    return chunk_offset(chunk) + (kd * chunk_blocks(chunk) + block % 2) * vector_bytes() + output % lanes * 4;
  }
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t block = output / lanes, blocks = chunk_blocks(block / 2);
    const int64_t input_block = input / lanes, quads_before = input_block * (lanes / 4) * shape.kernel.product();
    const int64_t step = quads_before + tap * quads(input_block) + input % lanes / 4;
    return chunk_offset(block / 2) + ((shape.kernel.d + step) * blocks + block % 2) * vector_bytes() +
           output % lanes * 4 + input % 4;
  }
};

// Any kernel, stride and dilation; one group.
constexpr bool int8_supports(const ConvShape& shape) { return shape.groups == 1; }

// A task computes a strip, and of its output channels a split of the chunks.
struct Int8Geometry : StripGeometry, OutputSplits {
  KernelWork work;
};

// Flat voxels of a register tile.
constexpr int64_t int8_tile_voxels(int vector_lanes) {
  return machine::vector_unit(vector_lanes).has_many_registers() ? 12 : 4;
}

constexpr Int8Geometry int8_geometry(const Int8Packing& packing, const ConvSizes& sizes) {
  constexpr int64_t wished_tasks = 16;
  const int64_t cache = machine::vector_unit(packing.lanes).cache_beside_weights;
  const bool has_many_weights = packing.size() > cache;
  const StripDemand demand{packing.input_blocks(), packing.lanes, cache, int8_tile_voxels(packing.lanes),
                           has_many_weights ? 1 : wished_tasks};
  Int8Geometry result{strip_geometry(packing.shape, demand, sizes), {packing.chunks(), 1}, {}};
  if (result.tasks == 0) return result;
  if (has_many_weights)
    static_cast<OutputSplits&>(result) = split_outputs(packing.chunks(), result.tasks, wished_tasks);
  result.work = {result.tasks * result.splits, result.strip_voxels * packing.lanes};
  return result;
}

}  // namespace onnxc::kernels
