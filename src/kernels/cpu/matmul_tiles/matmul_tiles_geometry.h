// The matrix product by tiles (matmul_tiles.h): how its constant matrix is packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_geometry.h"
#include "kernels/cpu/matmul/matmul_geometry.h"

namespace onnxc::kernels {

// A constant b[depth, columns] is packed as the weights of a convolution of one tap.
constexpr TilesPacking tiles_matrix_packing(int64_t depth, int64_t columns, TilesKind kind) {
  return {{.input_channels = depth, .output_channels = columns}, kind};
}

// A task computes a block of rows by a split of the tiles of columns of one matrix of the batch. It copies its rows of
// a to a strip, [block of the depth][row]; whole groups of rows are multiplied.
struct TilesMatmulGeometry {
  static constexpr int64_t scale_bytes = 32;  // of a row, in the scratch after the sums: only digits have scales

  int64_t block_rows, row_blocks;
  int64_t strip_rows;  // of a block of the depth
  OutputSplits columns;
  KernelWork work;
};

constexpr TilesMatmulGeometry tiles_matmul_geometry(const TilesPacking& packing, const MatmulSizes& sizes) {
  constexpr int64_t wished_tasks = 16, wished_row_blocks = 8, strip_bytes = 768 * 1024;
  TilesMatmulGeometry result{};
  if (sizes.batches() * sizes.rows * sizes.columns == 0) return result;
  const int64_t group = packing.group_voxels();
  const int64_t row_bytes = larger(1, packing.input_blocks()) * packing.digits() * TilesPacking::row_bytes;
  const int64_t fitting = larger(1, strip_bytes / row_bytes / group) * group;
  // Blocks of rows first, since each split of the columns copies the rows once more.
  const int64_t wished = smaller(wished_row_blocks, divide_up(sizes.rows, 2 * group));
  const int64_t blocks = larger(divide_up(sizes.rows, fitting), wished);
  result.block_rows = smaller(sizes.rows, round_up(divide_up(sizes.rows, blocks), group));
  result.row_blocks = divide_up(sizes.rows, result.block_rows);
  result.strip_rows = round_up(result.block_rows, group);
  result.columns = split_outputs(packing.output_tiles(), sizes.batches() * result.row_blocks, wished_tasks);
  result.work = {sizes.batches() * result.row_blocks * result.columns.splits,
                 packing.scratch_bytes(packing.input_blocks() * result.strip_rows) +
                     (packing.kind == TilesKind::digits ? result.strip_rows * TilesMatmulGeometry::scale_bytes : 0)};
  return result;
}

}  // namespace onnxc::kernels
