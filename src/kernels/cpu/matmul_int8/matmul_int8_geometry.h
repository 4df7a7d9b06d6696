// The product of bytes (matmul_int8.h): how its constant matrix is packed, and how its work is cut into tasks.
#pragma once

#include "kernels/cpu/conv_int8/conv_int8_geometry.h"
#include "kernels/cpu/matmul/matmul_geometry.h"

namespace onnxc::kernels {

// A constant b[depth, columns] is packed as the weights of a convolution of one tap. The sums begin with the products
// of the zero point of a, which a run may give: what stands for them is that of a zero point of 1.
constexpr Int8Packing byte_matrix_packing(int64_t depth, int64_t columns, int vector_lanes) {
  return {{.input_channels = depth, .output_channels = columns}, vector_lanes};
}

// A task computes a block of rows by a split of the chunks of columns of one matrix of the batch. It copies its rows of
// a as unsigned bytes.
struct ByteMatmulGeometry {
  int64_t block_rows, row_blocks;
  OutputSplits columns;
  int64_t row_bytes;  // of a copied row: the depth in whole quads
  KernelWork work;
};

constexpr ByteMatmulGeometry byte_matmul_geometry(int vector_lanes, const MatmulSizes& sizes) {
  constexpr int64_t wished_tasks = 32, copied_bytes = 128 * 1024;
  ByteMatmulGeometry result{};
  const int64_t tile = int8_tile_voxels(vector_lanes), chunks = divide_up(sizes.columns, 2 * vector_lanes);
  result.row_bytes = round_up(sizes.depth, 4);
  if (sizes.batches() * sizes.rows * chunks == 0) return result;
  const int64_t fitting = larger(tile, copied_bytes / larger(1, result.row_bytes) / tile * tile);
  // Few blocks of rows, since each reads all of b; then splits of the columns until there are enough tasks.
  const int64_t blocks = larger(divide_up(sizes.rows, fitting), smaller(4, divide_up(sizes.rows, 4 * tile)));
  result.block_rows = smaller(sizes.rows, round_up(divide_up(sizes.rows, blocks), tile));
  result.row_blocks = divide_up(sizes.rows, result.block_rows);
  result.columns = split_outputs(chunks, sizes.batches() * result.row_blocks, wished_tasks);
  // Whole tiles of rows are read.
  result.work = {sizes.batches() * result.row_blocks * result.columns.splits,
                 round_up(result.block_rows, tile) * result.row_bytes};
  return result;
}

}  // namespace onnxc::kernels
