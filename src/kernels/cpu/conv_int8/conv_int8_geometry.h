// The convolution of bytes (conv_int8.h): how its weights are packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv/conv_strip.h"

namespace onnxc::kernels {

// Quads of input channels [begin, end), counted through the blocks of the input.
struct QuadRange {
  int64_t begin, end;
  constexpr int64_t count() const { return end - begin; }
};

// Packed weights, in bytes: for each chunk of one or two blocks of output channels [plane of taps][block][output]
// int32, with which the sums of that plane begin, and [block of input channels][tap][quad of input
// channels][block][output][of the quad] int8. A chunk reads the quads of the groups that it meets; the weights of an
// output for the inputs of other groups are zero, which integers allow: nothing times zero is other than zero. Every
// chunk has as much space as that with the most quads.
struct Int8Packing {
  ConvShape shape;
  int lanes;

  constexpr int64_t input_blocks() const { return divide_up(shape.input_channels, lanes); }
  constexpr int64_t output_blocks() const { return divide_up(shape.output_channels, lanes); }
  // Two blocks share their broadcasts; of narrow groups the two would hardly share an input.
  constexpr int64_t most_chunk_blocks() const {
    return shape.groups > 1 && shape.group_output_channels() < 2 * int64_t{lanes} ? 1 : 2;
  }
  constexpr int64_t chunks() const { return divide_up(output_blocks(), most_chunk_blocks()); }
  constexpr int64_t first_block(int64_t chunk) const { return chunk * most_chunk_blocks(); }
  constexpr int64_t chunk_blocks(int64_t chunk) const {
    return smaller(most_chunk_blocks(), output_blocks() - first_block(chunk));
  }

  // Those that hold any input of a chunk.
  constexpr QuadRange chunk_quads(int64_t chunk) const {
    if (shape.groups == 1) return {0, divide_up(shape.input_channels, 4)};
    const int64_t first = first_block(chunk) * lanes, end = (first_block(chunk) + chunk_blocks(chunk)) * lanes;
    const int64_t last_group = smaller(end, shape.output_channels) - 1;
    return {first / shape.group_output_channels() * shape.group_input_channels() / 4,
            divide_up((last_group / shape.group_output_channels() + 1) * shape.group_input_channels(), 4)};
  }
  // Those of them in a block of input channels.
  constexpr QuadRange quads(int64_t chunk, int64_t input_block) const {
    const QuadRange all = chunk_quads(chunk);
    const int64_t begin = larger(all.begin, input_block * (lanes / 4));
    return {begin, larger(begin, smaller(all.end, (input_block + 1) * (lanes / 4)))};
  }
  constexpr int64_t most_quads() const {
    int64_t most = 0;
    for (int64_t chunk = 0; chunk < (shape.groups == 1 ? 1 : chunks()); ++chunk)
      most = larger(most, chunk_quads(chunk).count());
    return most;
  }

  constexpr int64_t vector_bytes() const { return int64_t{lanes} * 4; }
  constexpr int64_t steps() const { return shape.kernel.product() * most_quads(); }
  constexpr int64_t chunk_offset(int64_t chunk) const {
    return first_block(chunk) * vector_bytes() * (shape.kernel.d + steps());
  }
  constexpr int64_t size() const { return output_blocks() * vector_bytes() * (shape.kernel.d + steps()); }
  // The offset of the start of an output channel's sum over a plane of taps.
  constexpr int64_t start_offset(int64_t output, int64_t kd) const {
    const int64_t block = output / lanes, chunk = block / most_chunk_blocks();
    return chunk_offset(chunk) + (kd * chunk_blocks(chunk) + block - first_block(chunk)) * vector_bytes() +
           output % lanes * 4;
  }
  // The offset of the weight of an output channel for an input channel, both counted through all groups.
  constexpr int64_t offset(int64_t output, int64_t input, int64_t tap) const {
    const int64_t block = output / lanes, chunk = block / most_chunk_blocks(), blocks = chunk_blocks(chunk);
    const QuadRange of_block = quads(chunk, input / lanes);
    const int64_t quads_before = (of_block.begin - chunk_quads(chunk).begin) * shape.kernel.product();
    const int64_t step = quads_before + tap * of_block.count() + input / 4 - of_block.begin;
    return chunk_offset(chunk) + ((shape.kernel.d + step) * blocks + block - first_block(chunk)) * vector_bytes() +
           output % lanes * 4 + input % 4;
  }
};

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
