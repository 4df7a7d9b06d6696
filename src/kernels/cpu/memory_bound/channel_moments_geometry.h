// The contract of the compiler and the statistics kernels (channel_moments.h): how a channel is cut into chunks.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

struct MomentsSizes {
  int64_t batch;
  int64_t channels;
  int64_t groups;  // of neighbouring channels with common moments; as many as channels for InstanceNormalization
  Axes size;

  constexpr int64_t group_channels() const { return groups == 0 ? 0 : channels / groups; }
};

// The voxels in a chunk: of one channel block, or of one channel in NCHW. A chunk is read twice, the second time from
// cache.
constexpr int64_t moments_chunk_voxels(int64_t block_lanes) { return block_lanes == 1 ? 16 * 1024 : 1024; }

// Partial results in order: [batch][channel block][chunk][value][lane]. The chunks depend only on the sizes, so the
// bits of the results do not depend on the number of threads.
struct ChunkGeometry {
  int64_t voxels, chunk_voxels, chunks, blocks;

  constexpr ChunkGeometry(const MomentsSizes& sizes, int block_lanes)
      : voxels(sizes.size.product()),
        chunk_voxels(moments_chunk_voxels(block_lanes)),
        chunks(divide_up(voxels, chunk_voxels)),
        blocks(divide_up(sizes.channels, block_lanes)) {}

  constexpr int64_t voxels_of(int64_t chunk) const { return smaller(chunk_voxels, voxels - chunk * chunk_voxels); }
  constexpr int64_t tasks(const MomentsSizes& sizes) const { return sizes.batch * blocks * chunks; }
};

// The number of values kept for a chunk: the sum; or for the variance the rounded mean and the sums of the differences
// from it and of their squares.
constexpr int64_t chunk_values(bool with_squares) { return with_squares ? 3 : 1; }

// Floats that the partial results take.
constexpr int64_t partial_moments_size(const MomentsSizes& sizes, bool with_squares, int block_lanes) {
  return ChunkGeometry(sizes, block_lanes).tasks(sizes) * chunk_values(with_squares) * block_lanes;
}

}  // namespace onnxc::kernels
