// The contract of the compiler, the packer of constant matrices and matmul.h. Pure functions without vector types: the
// compiler includes them for any instruction set and passes the number of lanes.
#pragma once

#include "kernels/cpu/kernel_work.h"
#include "kernels/shared/conv_shape.h"

namespace onnxc::kernels {

// output[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n].
struct MatmulSizes {
  static constexpr int batch_rank = 4;  // unused axes, leading ones, are 1

  int64_t batch[batch_rank];
  int64_t rows;
  int64_t columns;
  int64_t depth;

  constexpr int64_t batches() const { return batch[0] * batch[1] * batch[2] * batch[3]; }
};

// An operand's strides in elements; 0 along a batch axis that is broadcast. A transposed operand has its row and column
// stride exchanged.
struct MatrixView {
  int64_t batch_strides[MatmulSizes::batch_rank];
  int64_t row_stride;
  int64_t column_stride;
};

// The arguments of kernels that have one packed b for all matrices of a batch.
template <class A, class B, class Output>
struct PackedMatmulArguments {
  const A* a;
  const B* b;  // as the kernel's packing has it
  Output* output;
  MatmulSizes sizes;
  MatrixView a_view;
  MatrixView output_view;  // column_stride is 1
  A zero_point;            // of a, if it holds bytes
};

// A constant b is packed as [panel][k][column in panel]. A panel is two vectors wide, as the register tile is; the last
// one is a single vector when that suffices. Columns past the end are zero.
struct MatmulPacking {
  int64_t depth;
  int64_t columns;
  int lanes;

  constexpr int64_t panel_columns() const { return 2 * lanes; }
  constexpr int64_t panels() const { return divide_up(columns, panel_columns()); }
  constexpr int64_t panel_width(int64_t panel) const {
    return smaller(panel_columns(), round_up(columns - panel * panel_columns(), lanes));
  }
  constexpr int64_t panel_offset(int64_t panel) const { return panel * panel_columns() * depth; }
  constexpr int64_t size() const { return round_up(columns, lanes) * depth; }
  constexpr int64_t offset(int64_t k, int64_t column) const {
    const int64_t panel = column / panel_columns();
    return panel_offset(panel) + k * panel_width(panel) + column % panel_columns();
  }
};

// A task computes a block of rows by a block of panels of one matrix of the batch. For each block of the depth it packs
// its part of a and, unless b is constant, its part of b for each panel; partial sums wait in scratch between blocks of
// the depth.
struct MatmulGeometry {
  static constexpr int64_t most_depth = 384;                // of a block, unless there is a single row
  static constexpr int64_t a_row_stride = most_depth + 16;  // no two rows of a tile in one set of the first-level cache

  int64_t block_rows, row_blocks;
  int64_t block_panels, column_blocks;
  int64_t block_depth, depth_blocks;
  // Parts of the scratch, in floats.
  int64_t packed_a, packed_b, partial_sums;
  KernelWork work;
};

constexpr MatmulGeometry matmul_geometry(int target_lanes, const MatmulSizes& sizes, bool b_is_packed) {
  // a's block and the partial sums together take about half of a second-level cache of 1 MiB.
  constexpr int64_t most_rows = 576, wished_tasks = 48, a_floats = 56 * 1024, most_vector_depth = 16 * 1024;
  const MatmulPacking packing{sizes.depth, sizes.columns, target_lanes};
  const int64_t register_rows = machine::vector_unit(target_lanes).tile_rows();
  const int64_t least_rows = 4 * register_rows;
  // With few columns, packing a does not pay, unless there is only one row.
  const int64_t least_panels = sizes.rows == 1 ? 1 : 4;

  MatmulGeometry geometry{};
  geometry.block_depth = smaller(sizes.depth, sizes.rows == 1 ? most_vector_depth : MatmulGeometry::most_depth);
  geometry.depth_blocks = geometry.block_depth == 0 ? 1 : divide_up(sizes.depth, geometry.block_depth);
  const int64_t panels = packing.panels();
  const int64_t wished = divide_up(wished_tasks, larger(1, sizes.batches()));

  const int64_t fitting_rows = a_floats / larger(1, geometry.block_depth) / register_rows * register_rows;
  const int64_t rows_for_cache = smaller(most_rows, larger(least_rows, fitting_rows));
  const int64_t most_panels = geometry.depth_blocks > 1 ? larger(1, 256 / packing.panel_columns()) : panels;
  const int64_t least_column_blocks = divide_up(panels, larger(1, most_panels));
  const int64_t least_row_blocks = divide_up(sizes.rows, rows_for_cache);
  // More tasks: first by columns, which costs another packing of a; then by rows.
  const int64_t column_blocks = larger(
      least_column_blocks, smaller(divide_up(panels, least_panels), divide_up(wished, larger(1, least_row_blocks))));
  const int64_t row_blocks =
      larger(least_row_blocks, smaller(divide_up(sizes.rows, least_rows), divide_up(wished, larger(1, column_blocks))));

  geometry.block_panels = column_blocks == 0 ? 0 : divide_up(panels, column_blocks);
  geometry.column_blocks = geometry.block_panels == 0 ? 0 : divide_up(panels, geometry.block_panels);
  geometry.block_rows = row_blocks == 0 ? 0 : round_up(divide_up(sizes.rows, row_blocks), register_rows);
  geometry.row_blocks = geometry.block_rows == 0 ? 0 : divide_up(sizes.rows, geometry.block_rows);

  geometry.packed_a =
      sizes.rows == 1 ? round_up(geometry.block_depth, 16) : geometry.block_rows * MatmulGeometry::a_row_stride;
  geometry.packed_b = b_is_packed ? 0 : geometry.block_depth * packing.panel_columns();
  geometry.partial_sums =
      geometry.depth_blocks > 1 ? geometry.block_rows * geometry.block_panels * packing.panel_columns() : 0;
  geometry.work = {
      sizes.batches() * geometry.row_blocks * geometry.column_blocks,
      (geometry.packed_a + geometry.packed_b + geometry.partial_sums) * static_cast<int64_t>(sizeof(float))};
  return geometry;
}

}  // namespace onnxc::kernels
