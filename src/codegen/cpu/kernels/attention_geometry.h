// What the compiler and attention.h must agree on.
#pragma once

#include "codegen/cpu/kernels/matmul_geometry.h"

namespace onnxc::kernels {

struct AttentionSizes {
  int64_t batch[MatmulSizes::batch_rank];  // unused axes, leading ones, are 1
  int64_t queries;
  int64_t keys;
  int64_t depth;    // of a query and a key
  int64_t columns;  // of a value

  constexpr int64_t batches() const { return batch[0] * batch[1] * batch[2] * batch[3]; }
  constexpr MatmulPacking key_packing(int target_lanes) const { return {depth, keys, target_lanes}; }
  constexpr MatmulPacking value_packing(int target_lanes) const { return {keys, columns, target_lanes}; }
};

// A task computes a range of the queries of one attention of the batch. It packs the keys and values, and then takes
// the queries a tile at a time: their scores stand as [block of keys][query][row_stride].
struct AttentionGeometry {
  static constexpr int64_t most_depth = MatmulGeometry::most_depth;
  static constexpr int64_t block_keys = MatmulGeometry::most_depth;
  static constexpr int64_t row_stride = MatmulGeometry::a_row_stride;

  int64_t tile_queries;
  int64_t task_queries;  // the last range may be shorter
  int64_t ranges;
  int64_t key_blocks;
  // Parts of the scratch, in floats.
  int64_t packed_queries, packed_keys, packed_values;
  KernelWork work;
};

constexpr AttentionGeometry attention_geometry(int target_lanes, const AttentionSizes& sizes) {
  // Each task packs all keys and values: what is small against the scores of four tiles.
  constexpr int64_t wished_tasks = 48, least_tiles = 4;
  AttentionGeometry geometry{};
  geometry.tile_queries = target_lanes == 16 ? 12 : 6;
  if (sizes.batches() * sizes.queries * sizes.columns == 0) return geometry;
  const int64_t wished_ranges = divide_up(wished_tasks, sizes.batches());
  const int64_t least_queries = least_tiles * geometry.tile_queries;
  geometry.task_queries =
      round_up(larger(least_queries, divide_up(sizes.queries, wished_ranges)), geometry.tile_queries);
  geometry.ranges = divide_up(sizes.queries, geometry.task_queries);
  geometry.key_blocks = divide_up(sizes.keys, AttentionGeometry::block_keys);
  const int64_t tile = geometry.tile_queries * AttentionGeometry::row_stride;
  geometry.packed_queries = tile;
  geometry.packed_keys = round_up(sizes.key_packing(target_lanes).size(), 16);
  // Values stand as panels, or as a row for each column and block of keys.
  geometry.packed_values = larger(sizes.value_packing(target_lanes).size(),
                                  geometry.key_blocks * sizes.columns * AttentionGeometry::row_stride);
  geometry.packed_values = round_up(geometry.packed_values, 16);
  const int64_t floats =
      geometry.packed_queries + geometry.packed_keys + geometry.packed_values + geometry.key_blocks * tile;
  geometry.work = {sizes.batches() * geometry.ranges, floats * static_cast<int64_t>(sizeof(float))};
  return geometry;
}

}  // namespace onnxc::kernels
