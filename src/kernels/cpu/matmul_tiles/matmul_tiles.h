// Batched product of row-major matrices with a constant one by matrix tiles (AMX): output[batch, m, n] = epilogue(sum
// over k of a[batch, m, k] * b[k, n]); of bfloat16 with sums in float32, or of bytes with exact sums in int32.
//
// Problem: as matmul.h, with operands rounded to bfloat16, or as matmul_int8.h. Method: that of conv_tiles.h with one
// tap. A task copies its rows of a to a strip, [block of 32 columns of a (64 of bytes)][row], so that 16 rows of a
// block are a tile; a step multiplies six tiles of rows by a tile of b.
//
// Limits: b is constant and has no batch axes. float32 as digits would need a scale a row: a row must have the same
// bits wherever it stands. Not measured: no machine with AMX was at hand. Bound by: products of tiles; with few rows by
// reading b, half as many bytes as of float32, or a quarter.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_elements.h"
#include "kernels/cpu/matmul_int8/matmul_int8.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles_geometry.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class A, class Output, class Epilogue, class Elements>
class TilesMatrixProduct {
 public:
  static constexpr bool is_of_bytes = Elements::kind == TilesKind::bytes;
  using Arguments = PackedMatmulArguments<A, typename Elements::Weight, Output>;  // b as tiles_matrix_packing has it

  static KernelWork work(const MatmulSizes& sizes) { return tiles_matmul_geometry(packing_of(sizes), sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const TilesPacking packing = packing_of(arguments.sizes);
    const TilesMatmulGeometry geometry = tiles_matmul_geometry(packing, arguments.sizes);
    TileSession tiles;
    for (int64_t index = task_begin; index < task_end; ++index) {
      const Task task = locate(arguments, packing, geometry, index, static_cast<Element*>(scratch));
      copy_rows(arguments, packing, task);
      const int64_t begin = index / geometry.row_blocks % geometry.columns.splits * geometry.columns.units;
      const int64_t end = smaller(begin + geometry.columns.units, packing.output_tiles());
      for (int64_t tile = begin; tile < end; ++tile) multiply(arguments, epilogue, packing, task, tile, tiles);
    }
  }

 private:
  using Element = typename Elements::Element;
  using Sum = typename Elements::Sum;
  static constexpr int64_t row_elements = tile_row_bytes / static_cast<int64_t>(sizeof(Element));
  static constexpr int64_t tile_sums = tile_rows * TilesPacking::step_outputs;

  // A block of rows of one matrix of the batch.
  struct Task {
    const A* a;  // the first row
    int64_t row_begin, rows, strip_rows;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
    Element* strip;
    Sum* sums;  // [accumulator][row of a tile][column of a tile]; the spare store behind
  };

  static TilesPacking packing_of(const MatmulSizes& sizes) {
    return tiles_matrix_packing(sizes.depth, sizes.columns, Elements::kind);
  }

  static Task locate(const Arguments& arguments, const TilesPacking& packing, const TilesMatmulGeometry& geometry,
                     int64_t index, Element* strip) {
    // Blocks of rows run fastest: they share b.
    const int64_t row_begin = index % geometry.row_blocks * geometry.block_rows;
    Task task{arguments.a + row_begin * arguments.a_view.row_stride,
              row_begin,
              smaller(geometry.block_rows, arguments.sizes.rows - row_begin),
              geometry.strip_rows,
              {},
              strip,
              reinterpret_cast<Sum*>(strip + packing.input_blocks() * geometry.strip_rows * row_elements)};
    const int64_t matrix = index / geometry.row_blocks / geometry.columns.splits;
    for_each_batch_axis(arguments.sizes.batch, matrix, [&](int axis, int64_t i) {
      task.a += i * arguments.a_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    });
    return task;
  }

  // Calls visit(elements, row, column) for each vector of the task's rows; those past the last column are zero.
  template <class Visit>
  [[gnu::always_inline]] static void for_each_vector(const Arguments& arguments, const Task& task, const Visit& visit) {
    const MatrixView& view = arguments.a_view;
    const int64_t depth = arguments.sizes.depth;
    for (int64_t row = 0; row < task.rows; ++row) {
      const A* const source = task.a + row * view.row_stride;
      for (int64_t column = 0; column < depth; column += lanes) {
        if (view.column_stride == 1 && column + lanes <= depth) {
          visit(source + column, row, column);
          continue;
        }
        A elements[lanes] = {};
        for (int64_t i = 0; i < smaller(lanes, depth - column); ++i)
          elements[i] = source[(column + i) * view.column_stride];
        visit(static_cast<const A*>(elements), row, column);
      }
    }
  }

  // Rows that fill up the last group stay as they are: their products are dropped.
  static void copy_rows(const Arguments& arguments, const TilesPacking& packing, const Task& task) {
    const auto place = [&](int64_t row, int64_t column) {
      return task.strip + (column / row_elements * task.strip_rows + row) * row_elements + column % row_elements;
    };
    for_each_vector(arguments, task, [&](const A* elements, int64_t row, int64_t column) {
      Elements::copy(elements, place(row, column), 0, NoScale());
    });
    const int64_t filled = round_up(arguments.sizes.depth, lanes), depth = packing.input_blocks() * row_elements;
    if (filled == depth) return;
    for (int64_t row = 0; row < task.rows; ++row)
      __builtin_memset(static_cast<void*>(place(row, filled)), 0,
                       static_cast<size_t>(depth - filled) * sizeof(Element));
  }

  // What the sums of a tile of columns begin with: of bytes the products of their zero point, of which the packing has
  // those of a zero point of 1.
  struct Start {
    alignas(tile_row_bytes) char row[tile_row_bytes];

    Start(const Arguments& arguments, const char* packed) {
      if constexpr (is_of_bytes) {
        const vec_int32 zero_point = splat(int32_t{as_unsigned(arguments.zero_point)});
        for (int64_t part = 0; part < tile_row_bytes; part += 4 * lanes)
          store(reinterpret_cast<int32_t*>(row + part), kernels::multiply(load_words(packed + part), zero_point));
      }
    }
  };

  // All the task's rows by one tile of columns.
  static void multiply(const Arguments& arguments, const Epilogue& epilogue, const TilesPacking& packing,
                       const Task& task, int64_t tile, TileSession& tiles) {
    const auto* const weights = reinterpret_cast<const char*>(arguments.b) + tile * packing.output_tile_bytes();
    const Start start(arguments, weights);
    for (int64_t first = 0; first < task.rows; first += packing.group_voxels()) {
      const int64_t rows = smaller(packing.group_voxels(), task.rows - first);
      multiply_group(packing, task, weights, start, first, tiles);
      finish(arguments, epilogue, packing, task, tile, weights, first, rows);
    }
  }

  static void multiply_group(const TilesPacking& packing, const Task& task, const char* weights, const Start& start,
                             int64_t first, TileSession& tiles) {
    constexpr int64_t steps_a_store = 96 / Elements::products;  // as in conv_tiles.h
    Sum* const spare = task.sums + Elements::accumulators * tile_sums;
    const Element* rows = task.strip + first * row_elements;
    Elements::start(tiles, start.row);
    weights += packing.start_bytes();
    for (int64_t block = 0; block < packing.input_blocks(); ++block) {
      Elements::template add_products<0>(tiles, rows, 0, weights);
      if (block % steps_a_store == steps_a_store - 1) tiles.store<weight_tile>(spare, tile_row_bytes);
      rows += task.strip_rows * row_elements;
      weights += packing.step_bytes();
    }
    for_each_tile<Elements::accumulators>(
        [&]<int i>() __attribute__((always_inline)) { tiles.store<i>(task.sums + i * tile_sums, tile_row_bytes); });
  }

  static void finish(const Arguments& arguments, const Epilogue& epilogue, const TilesPacking& packing,
                     const Task& task, int64_t tile, const char* start, int64_t first, int64_t rows) {
    const int64_t columns = arguments.sizes.columns, first_column = tile * TilesPacking::step_outputs;
    const int64_t width = smaller(TilesPacking::step_outputs, columns - first_column);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t part = 0; part < width; part += lanes)
        store_columns(arguments.output, arguments.output_view.row_stride, task.matrix, task.row_begin + first + row,
                      first_column + part, columns, epilogue,
                      Elements::result(task.sums + packing.sums_offset(row) + part, start + part * 4, NoScale()));
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
