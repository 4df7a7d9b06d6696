// Batched product of row-major matrices with a constant one by matrix tiles (AMX): output[batch, m, n] = epilogue(sum
// over k of a[batch, m, k] * b[k, n]). Operands are bfloat16 with sums in float32, bytes with exact sums in int32, or
// float32 as digits of bytes.
//
// Problem: as matmul.h, with operands rounded to bfloat16 or as they are, or as matmul_int8.h. Method: that of
// conv_tiles.h with one tap. A task copies its rows of a to a strip, [block of 32 columns of a (64 of bytes)][row], so
// that 16 rows of a block are a tile. A step multiplies six tiles of rows by a tile of b; digits one. Digits have a
// scale for each row (conv_tiles_digits.h), so that a row has the same bits at any place, a single one too. A row with
// outliers has a second set of its own, and one with infinities or NaN is summed in float32.
//
// Limits: b is constant and has no batch axes. Not measured: no machine with AMX was at hand. Bound by: products of
// tiles; with few rows by reading b, half as many bytes as of float32, a quarter, or of digits three quarters. With the
// rates of the prototype's machine (16 cycles a product of tiles, two FMAs a cycle) 16 rows by 16 columns by a depth of
// 64 take 128 cycles in digits, whose six tiles come from the second-level cache in as many. They take 512 cycles by
// FMAs. A vector of a costs some 12 cycles to become digits, one of the output 10; so digits gain with 32 columns or
// more.
#pragma once

#include "kernels/cpu/conv_tiles/conv_tiles_digits.h"
#include "kernels/cpu/matmul_int8/matmul_int8.h"
#include "kernels/cpu/matmul_tiles/matmul_tiles_geometry.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class A, class Output, class Epilogue, class Elements>
class TilesMatrixProduct {
 public:
  static constexpr bool is_of_bytes = Elements::kind == TilesKind::bytes;
  static constexpr bool is_scaled = Elements::kind == TilesKind::digits;
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
  using Scale = typename Elements::Scale;
  static constexpr int64_t row_elements = tile_row_bytes / static_cast<int64_t>(sizeof(Element));
  static constexpr int64_t tile_sums = tile_rows * TilesPacking::step_outputs;
  static constexpr int64_t set_sums = most_accumulators * tile_sums;
  static_assert(!is_scaled || sizeof(Scale) <= TilesMatmulGeometry::scale_bytes);

  // A block of rows of one matrix of the batch.
  struct Task {
    const A* a;  // the first row
    int64_t row_begin, rows, strip_rows;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
    Element* strip;
    int64_t digit_stride;  // in elements; all of a digit stand together
    Sum* sums;             // [set][accumulator][row of a tile][column of a tile]; the spare store after the last set
    Scale* scales;         // of digits, a row each

    Scale scale(int64_t row) const {
      if constexpr (is_scaled)
        return scales[row];
      else
        return {};
    }
  };

  static TilesPacking packing_of(const MatmulSizes& sizes) {
    return tiles_matrix_packing(sizes.depth, sizes.columns, Elements::kind);
  }

  static Task locate(const Arguments& arguments, const TilesPacking& packing, const TilesMatmulGeometry& geometry,
                     int64_t index, Element* strip) {
    // Blocks of rows run fastest: they share b.
    const int64_t row_begin = index % geometry.row_blocks * geometry.block_rows;
    const int64_t digit_stride = packing.input_blocks() * geometry.strip_rows * row_elements;
    auto* const sums = reinterpret_cast<Sum*>(strip + packing.strip_digits() * digit_stride);
    Task task{arguments.a + row_begin * arguments.a_view.row_stride,
              row_begin,
              smaller(geometry.block_rows, arguments.sizes.rows - row_begin),
              geometry.strip_rows,
              {},
              strip,
              digit_stride,
              sums,
              reinterpret_cast<Scale*>(sums + packing.sets() * set_sums + tile_sums)};
    const int64_t matrix = index / geometry.row_blocks / geometry.columns.splits;
    for_each_batch_axis(arguments.sizes.batch, matrix, [&](int axis, int64_t i) {
      task.a += i * arguments.a_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    });
    return task;
  }

  // Calls visit(elements, column) for each vector of a row; elements past the last column are zero.
  template <class Visit>
  [[gnu::always_inline]] static void for_each_vector(const Arguments& arguments, const Task& task, int64_t row,
                                                     const Visit& visit) {
    const MatrixView& view = arguments.a_view;
    const int64_t depth = arguments.sizes.depth;
    const A* const source = task.a + row * view.row_stride;
    for (int64_t column = 0; column < depth; column += lanes) {
      if (view.column_stride == 1 && column + lanes <= depth) {
        visit(source + column, column);
        continue;
      }
      A elements[lanes] = {};
      for (int64_t i = 0; i < smaller(lanes, depth - column); ++i)
        elements[i] = source[(column + i) * view.column_stride];
      visit(static_cast<const A*>(elements), column);
    }
  }

  // Rows that fill up the last group stay as they are, and those without digits: their products are dropped.
  static void copy_rows(const Arguments& arguments, const TilesPacking& packing, const Task& task) {
    const int64_t filled = round_up(arguments.sizes.depth, lanes), depth = packing.input_blocks() * row_elements;
    for (int64_t row = 0; row < task.rows; ++row) {
      if constexpr (is_scaled) task.scales[row] = scale_of(arguments, task, row);
      const Scale scale = task.scale(row);
      if (scale.is_float32) continue;
      const auto place = [&](int64_t column) {
        return task.strip + (column / row_elements * task.strip_rows + row) * row_elements + column % row_elements;
      };
      for_each_vector(arguments, task, row, [&](const A* elements, int64_t column) {
        Elements::copy(elements, place(column), task.digit_stride, scale);
      });
      if (filled == depth) continue;
      for (int64_t digit = 0; digit < scale.sets * packing.digits(); ++digit)
        __builtin_memset(static_cast<void*>(place(filled) + digit * task.digit_stride), 0,
                         static_cast<size_t>(depth - filled) * sizeof(Element));
    }
  }

  static DigitScale scale_of(const Arguments& arguments, const Task& task, int64_t row) {
    StripStatistics statistics;
    for_each_vector(arguments, task, row, [&](const A* elements, int64_t) { statistics.add(load(elements)); });
    return statistics.scale();
  }

  // Initial sums of a column tile. For int8: zero_point * column sum; the packed weights hold the column sums.
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
      multiply_group<0>(packing, task, weights, start, first, tiles);
      if constexpr (is_scaled) add_rows_with_outliers(arguments, packing, task, weights, start, first, rows, tiles);
      finish(arguments, epilogue, packing, task, tile, weights, first, rows);
    }
  }

  template <int set>
  static void multiply_group(const TilesPacking& packing, const Task& task, const char* weights, const Start& start,
                             int64_t first, TileSession& tiles) {
    constexpr int64_t steps_a_store = 96 / Elements::products;  // as in conv_tiles.h
    Sum* const spare = task.sums + packing.sets() * set_sums;
    const Element* rows = task.strip + set * packing.digits() * task.digit_stride + first * row_elements;
    Elements::start(tiles, start.row);
    weights += packing.start_bytes();
    for (int64_t block = 0; block < packing.input_blocks(); ++block) {
      Elements::template add_products<set>(tiles, rows, task.digit_stride, weights);
      if (block % steps_a_store == steps_a_store - 1) tiles.store<weight_tile>(spare, tile_row_bytes);
      rows += task.strip_rows * row_elements;
      weights += packing.step_bytes();
    }
    for_each_tile<Elements::accumulators>([&]<int i>() __attribute__((always_inline)) {
      tiles.store<i>(task.sums + set * set_sums + i * tile_sums, tile_row_bytes);
    });
  }

  // If rows of a group need them: the sums of the second set, and sums in float32.
  static void add_rows_with_outliers(const Arguments& arguments, const TilesPacking& packing, const Task& task,
                                     const char* weights, const Start& start, int64_t first, int64_t rows,
                                     TileSession& tiles) {
    bool has_second_set = false;
    for (int64_t row = 0; row < rows; ++row) has_second_set |= task.scale(first + row).sets == 2;
    if (has_second_set) [[unlikely]]
      multiply_second_set(packing, task, weights, start, first, tiles);
    for (int64_t row = 0; row < rows; ++row)
      if (task.scale(first + row).is_float32) [[unlikely]]
        sum_in_float32(arguments, packing, task, weights, first + row,
                       reinterpret_cast<float*>(task.sums) + packing.sums_offset(row));
  }

  [[gnu::noinline, gnu::cold]] static void multiply_second_set(const TilesPacking& packing, const Task& task,
                                                               const char* weights, const Start& start, int64_t first,
                                                               TileSession& tiles) {
    multiply_group<1>(packing, task, weights, start, first, tiles);
  }

  // Sums by the definition. The weights are put together from their digits.
  [[gnu::noinline, gnu::cold]] static void sum_in_float32(const Arguments& arguments, const TilesPacking& packing,
                                                          const Task& task, const char* weights, int64_t row,
                                                          float* sums) {
    const A* const source = task.a + row * arguments.a_view.row_stride;
    for (int64_t part = 0; part < TilesPacking::step_outputs; part += lanes) {
      const vec unit = load(reinterpret_cast<const float*>(weights) + part);
      vec sum = splat(0.0f);
      for (int64_t k = 0; k < arguments.sizes.depth; ++k) {
        const char* const words = weights + packing.offset(part, k / 4 * 4, 0);
        sum = fma(load_splat(source + k * arguments.a_view.column_stride),
                  Elements::weight(words, static_cast<int>(k % 4), unit), sum);
      }
      store(sums + part, sum);
    }
  }

  static void finish(const Arguments& arguments, const Epilogue& epilogue, const TilesPacking& packing,
                     const Task& task, int64_t tile, const char* start, int64_t first, int64_t rows) {
    const int64_t columns = arguments.sizes.columns, first_column = tile * TilesPacking::step_outputs;
    const int64_t width = smaller(TilesPacking::step_outputs, columns - first_column);
    for (int64_t row = 0; row < rows; ++row) {
      const Scale scale = task.scale(first + row);
      for (int64_t part = 0; part < width; part += lanes)
        store_columns(arguments.output, arguments.output_view.row_stride, task.matrix, task.row_begin + first + row,
                      first_column + part, columns, epilogue,
                      Elements::result(task.sums + packing.sums_offset(row) + part, start + part * 4, scale));
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
