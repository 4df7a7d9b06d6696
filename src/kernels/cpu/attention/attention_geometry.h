// The contract of the compiler and attention.h.
#pragma once

#include "kernels/cpu/matmul/matmul_geometry.h"

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

// A task computes a range of queries for some matrices of the batch. It packs their keys and values, then takes the
// queries tile by tile, the same tile of every matrix: biases that the matrices share are reread while in cache.
// Scratch holds a tile's scores as [block of keys][query][row_stride].
struct AttentionGeometry {
  static constexpr int64_t most_depth = MatmulGeometry::most_depth;
  static constexpr int64_t block_keys = MatmulGeometry::most_depth;
  static constexpr int64_t row_stride = MatmulGeometry::a_row_stride;

  int64_t tile_queries;
  int64_t task_batches;  // the last task may have fewer
  int64_t task_queries;  // the last range may be shorter
  int64_t ranges;
  int64_t key_blocks;
  // Parts of the scratch, in floats; keys and values are those of one attention.
  int64_t packed_queries, scores, packed_keys, packed_values;
  KernelWork work;
};

constexpr AttentionGeometry attention_geometry(int target_lanes, const AttentionSizes& sizes, bool has_narrow_values) {
  // Each task packs all keys and values; that is small against the scores of four tiles. Matrices of the batch share a
  // task if rereading their keys and values for each tile takes less than rereading a bias of the scores.
  constexpr int64_t wished_tasks = 48, least_tiles = 4, most_packed_floats = 64 * 1024;
  AttentionGeometry geometry{};
  geometry.tile_queries = machine::vector_unit(target_lanes).tile_rows();
  if (sizes.batches() * sizes.queries * sizes.columns == 0) return geometry;
  geometry.key_blocks = divide_up(sizes.keys, AttentionGeometry::block_keys);
  geometry.packed_queries = geometry.tile_queries * AttentionGeometry::row_stride;
  geometry.scores = geometry.key_blocks * geometry.packed_queries;
  geometry.packed_keys = round_up(sizes.key_packing(target_lanes).size(), 16);
  // Values are packed as panels; narrow ones as a row for each column and block of keys.
  geometry.packed_values =
      round_up(has_narrow_values ? geometry.key_blocks * sizes.columns * AttentionGeometry::row_stride
                                 : sizes.value_packing(target_lanes).size(),
               16);
  const int64_t packed = larger(1, geometry.packed_keys + geometry.packed_values);
  geometry.task_batches = packed <= geometry.tile_queries * sizes.keys ? most_packed_floats / packed : 1;
  geometry.task_batches = smaller(larger(1, geometry.task_batches), sizes.batches());
  const int64_t groups = divide_up(sizes.batches(), geometry.task_batches);
  const int64_t least_queries = least_tiles * geometry.tile_queries;
  geometry.task_queries =
      round_up(larger(least_queries, divide_up(sizes.queries, divide_up(wished_tasks, groups))), geometry.tile_queries);
  geometry.ranges = divide_up(sizes.queries, geometry.task_queries);
  const int64_t floats = geometry.packed_queries + geometry.scores + geometry.task_batches * packed;
  geometry.work = {groups * geometry.ranges, floats * static_cast<int64_t>(sizeof(float))};
  return geometry;
}

}  // namespace onnxc::kernels
