// Attention: the product of queries and keys, a softmax over the keys, and the product with the values, in one.
//
// Problem: output[b, i, e] = epilogue(sum over j of p[b, i, j] * v[b, j, e]), p = softmax over j of score epilogue(sum
// over d of q[b, i, d] * k[b, d, j]); the score epilogue scales and adds biases and masks. As separate steps the scores
// are written to memory once and read three times, and with few features a head that takes longer than all arithmetic.
// Method: a tile of queries at a time. Its scores against all keys stay in scratch, where the register tile of matmul.h
// writes them; a pass applies the epilogue and finds the largest of each row, a second takes the exponentials and their
// sum; then they are multiplied with the values, and the result is divided by the sum. Where values have fewer columns
// than half a vector, keys are the lanes of that product: the columns would leave most of a vector empty. Everything
// else of a task, packed keys and values, is read from the cache too. The order of each sum is fixed by the sizes.
// Limits: float32, a depth of at most 384. A row of scores that is all -inf, or has a NaN or +inf, gives NaN, as
// Softmax does. The sum of exponentials, not each of them, is what is divided by: values above the largest float over
// the number of keys overflow.
// Bound by: the exponential for few features a head, else FMA throughput.
#pragma once

#include "codegen/cpu/kernels/attention_geometry.h"
#include "codegen/cpu/kernels/matmul.h"
#include "codegen/cpu/kernels/softmax.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

struct AttentionArguments {
  const float* queries;
  const float* keys;  // [depth][key]
  const float* values;
  float* output;
  AttentionSizes sizes;
  MatrixView query_view;
  MatrixView key_view;
  MatrixView value_view;
  MatrixView output_view;  // column_stride is 1
};

// Of a kernel that keeps an intermediate result to itself: what is applied to that, and to the output.
template <class Inner, class Outer>
struct TwoEpilogues {
  Inner inner;
  Outer outer;
};

// `narrow_columns`: the columns of a value where they are known and at most half a vector, else 0.
template <int64_t narrow_columns, class Epilogues>
class Attention {
 public:
  using Arguments = AttentionArguments;

  static KernelWork work(const AttentionSizes& sizes) { return attention_geometry(lanes, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogues& epilogues, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const AttentionGeometry geometry = attention_geometry(lanes, arguments.sizes);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const Task task = locate(arguments, geometry, index, static_cast<float*>(scratch));
      // The task before has left the same keys and values.
      if (index == task_begin || index % geometry.ranges == 0) {
        pack_keys(arguments, task);
        pack_values(arguments, geometry, task);
      }
      const int64_t begin = index % geometry.ranges * geometry.task_queries;
      const int64_t end = smaller(begin + geometry.task_queries, arguments.sizes.queries);
      for (int64_t row = begin; row < end; row += tile_rows)
        run_tile(arguments, epilogues, geometry, task, row, smaller(tile_rows, end - row));
    }
  }

 private:
  static constexpr int tile_rows = lanes == 16 ? 12 : 6;
  static constexpr int64_t row_stride = AttentionGeometry::row_stride;
  static constexpr int64_t block_keys = AttentionGeometry::block_keys;
  static constexpr int64_t block_stride = tile_rows * row_stride;  // of scores

  struct Task {
    const float* queries;
    const float* keys;
    const float* values;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
    float* packed_queries;
    float* packed_keys;
    float* packed_values;
    float* scores;
  };

  static Task locate(const Arguments& arguments, const AttentionGeometry& geometry, int64_t index, float* scratch) {
    Task task{arguments.queries, arguments.keys, arguments.values, {}, scratch, nullptr, nullptr, nullptr};
    task.packed_keys = scratch + geometry.packed_queries;
    task.packed_values = task.packed_keys + geometry.packed_keys;
    task.scores = task.packed_values + geometry.packed_values;
    index /= geometry.ranges;
    for (int axis = MatmulSizes::batch_rank - 1; axis >= 0; --axis) {
      const int64_t i = index % arguments.sizes.batch[axis];
      index /= arguments.sizes.batch[axis];
      task.queries += i * arguments.query_view.batch_strides[axis];
      task.keys += i * arguments.key_view.batch_strides[axis];
      task.values += i * arguments.value_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    }
    return task;
  }

  // ---- packing

  static void pack_panels(const float* source, const MatrixView& view, const MatmulPacking& packing, float* packed) {
    for (int64_t index = 0; index < packing.panels(); ++index) {
      const int64_t column = index * packing.panel_columns(), width = packing.panel_width(index);
      detail::pack_panel(source + column * view.column_stride, view.row_stride, view.column_stride, packing.depth,
                         smaller(width, packing.columns - column), width, packed + packing.panel_offset(index));
    }
  }

  static void pack_keys(const Arguments& arguments, const Task& task) {
    pack_panels(task.keys, arguments.key_view, arguments.sizes.key_packing(lanes), task.packed_keys);
  }

  // Panels; of narrow ones [block of keys][column][row_stride], zero past the last key.
  static void pack_values(const Arguments& arguments, const AttentionGeometry& geometry, const Task& task) {
    const MatrixView& view = arguments.value_view;
    if constexpr (narrow_columns == 0) {
      pack_panels(task.values, view, arguments.sizes.value_packing(lanes), task.packed_values);
    } else {
      for (int64_t key = 0; key < geometry.key_blocks * block_keys; ++key) {
        float* const packed = task.packed_values + key / block_keys * narrow_columns * row_stride + key % block_keys;
        for (int64_t column = 0; column < narrow_columns; ++column)
          packed[column * row_stride] =
              key < arguments.sizes.keys ? task.values[key * view.row_stride + column * view.column_stride] : 0.0f;
      }
    }
  }

  // ---- a tile of queries

  static void run_tile(const Arguments& arguments, const Epilogues& epilogues, const AttentionGeometry& geometry,
                       const Task& task, int64_t row, int64_t rows) {
    const MatrixView& view = arguments.query_view;
    detail::copy_rows(task.queries + row * view.row_stride, view.row_stride, view.column_stride, rows,
                      arguments.sizes.depth, task.packed_queries, row_stride);
    // What a tile has too many computes with zeros.
    for (int64_t i = rows; i < tile_rows; ++i)
      for (int64_t k = 0; k < arguments.sizes.depth; ++k) task.packed_queries[i * row_stride + k] = 0.0f;
    multiply_keys(arguments, task);
    float sums[tile_rows];
    for (int64_t i = 0; i < rows; ++i) sums[i] = exponentials_of_row(arguments, epilogues.inner, task, row + i, i);
    if constexpr (narrow_columns == 0)
      multiply_values(arguments, epilogues.outer, task, sums, row, rows);
    else
      multiply_narrow_values(arguments, epilogues.outer, geometry, task, sums, row, rows);
  }

  static void multiply_keys(const Arguments& arguments, const Task& task) {
    const MatmulPacking packing = arguments.sizes.key_packing(lanes);
    for (int64_t index = 0; index < packing.panels(); ++index) {
      const int64_t key = index * packing.panel_columns();
      float* const scores = task.scores + key / block_keys * block_stride + key % block_keys;
      const float* const keys = task.packed_keys + packing.panel_offset(index);
      if (packing.panel_width(index) > lanes)
        multiply_panel<2>(task.packed_queries, keys, packing.depth, scores);
      else
        multiply_panel<1>(task.packed_queries, keys, packing.depth, scores);
    }
  }

  template <int blocks>
  [[gnu::noinline]] static void multiply_panel(const float* queries, const float* keys, int64_t depth, float* scores) {
    vec sums[tile_rows][blocks] = {};
    detail::accumulate_tile<tile_rows, blocks, row_stride>(queries, keys, depth, sums);
    for (int i = 0; i < tile_rows; ++i)
      for (int b = 0; b < blocks; ++b) store(scores + i * row_stride + b * lanes, sums[i][b]);
  }

  // Scores become exponentials, zero past the last key; returns their sum. Those below the normal floats are zero too:
  // masks of -100 make them, and arithmetic on them takes a hundred times as long.
  template <class ScoreEpilogue>
  [[gnu::noinline]] static float exponentials_of_row(const Arguments& arguments, const ScoreEpilogue& epilogue,
                                                     const Task& task, int64_t row, int64_t tile_row) {
    const int64_t keys = arguments.sizes.keys;
    float* const scores = task.scores + tile_row * row_stride;
    MatrixPosition position = task.matrix;
    position.row = row;
    position.offset = 0;  // the scores stand nowhere
    float largest = -__builtin_inff();
    for (int64_t begin = 0; begin < keys; begin += block_keys) {
      float* const block = scores + begin / block_keys * block_stride;
      const int64_t count = smaller(block_keys, keys - begin);
      position.count = lanes;
      int64_t i = 0;
      for (; i + lanes <= count; i += lanes) {
        position.column = begin + i;
        store(block + i, epilogue(load(block + i), position));
      }
      if (i < count) {
        position.column = begin + i;
        position.count = count - i;
        const vec score = epilogue(load(block + i), position);
        store(block + i, select(first_lanes(count - i), score, splat(-__builtin_inff())));
      }
      largest = maximum(largest, detail::largest_of(block, round_up(count, lanes)));
    }
    float sum = 0.0f;
    for (int64_t begin = 0; begin < keys; begin += block_keys) {
      float* const block = scores + begin / block_keys * block_stride;
      sum += detail::sum_of_exponentials<true>(block, round_up(smaller(block_keys, keys - begin), lanes), largest,
                                               block, [](vec x) { return detail::normal_exponential(x); });
    }
    return keys == 0 ? 1.0f : sum;  // the sum of no products is 0
  }

  template <class OutputEpilogue>
  static void multiply_values(const Arguments& arguments, const OutputEpilogue& epilogue, const Task& task,
                              const float* sums, int64_t row, int64_t rows) {
    const MatmulPacking packing = arguments.sizes.value_packing(lanes);
    for (int64_t index = 0; index < packing.panels(); ++index)
      if (packing.panel_width(index) > lanes)
        multiply_value_panel<2>(arguments, epilogue, task, packing, index, sums, row, rows);
      else
        multiply_value_panel<1>(arguments, epilogue, task, packing, index, sums, row, rows);
  }

  template <int blocks, class OutputEpilogue>
  [[gnu::noinline]] static void multiply_value_panel(const Arguments& arguments, const OutputEpilogue& epilogue,
                                                     const Task& task, const MatmulPacking& packing, int64_t index,
                                                     const float* sums, int64_t row, int64_t rows) {
    vec products[tile_rows][blocks] = {};
    const float* values = task.packed_values + packing.panel_offset(index);
    const float* scores = task.scores;
    for (int64_t begin = 0; begin < packing.depth; begin += block_keys) {
      detail::accumulate_tile<tile_rows, blocks, row_stride>(scores, values, smaller(block_keys, packing.depth - begin),
                                                             products);
      scores += block_stride;
      values += block_keys * blocks * lanes;
    }
    vec finished[tile_rows][blocks];
    for (int i = 0; i < tile_rows; ++i)
      for (int b = 0; b < blocks; ++b) finished[i][b] = products[i][b];
    asm("" : "+m"(finished));  // the products leave their registers here, so that the epilogue has them all
    const int64_t column = index * packing.panel_columns();
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < rows; ++i)
      for (int b = 0; b < blocks; ++b)
        finish(arguments, epilogue, task, row + i, column + b * lanes, finished[i][b] / splat(sums[i]));
  }

  // The fewer of the two operands' vectors wait in registers.
  template <bool keeps_values, int some_rows>
  [[gnu::always_inline]] static void add_products(const float* scores, const float* values,
                                                  vec (&products)[some_rows][narrow_columns]) {
    constexpr int kept_count = keeps_values ? narrow_columns : some_rows;
    constexpr int other_count = keeps_values ? some_rows : narrow_columns;
    vec kept[kept_count];
#pragma clang loop unroll(full)
    for (int i = 0; i < kept_count; ++i) kept[i] = load((keeps_values ? values : scores) + i * row_stride);
#pragma clang loop unroll(full)
    for (int j = 0; j < other_count; ++j) {
      const vec other = load((keeps_values ? scores : values) + j * row_stride);
#pragma clang loop unroll(full)
      for (int i = 0; i < kept_count; ++i) {
        vec& sum = keeps_values ? products[j][i] : products[i][j];
        sum = fma(other, kept[i], sum);
      }
    }
  }

  // As many rows at once as there are registers for their sums.
  static constexpr int narrow_rows() {
    int rows = tile_rows;
    while (rows > 1 && (tile_rows % rows != 0 || rows * larger(1, narrow_columns) > (lanes == 16 ? 24 : 12))) --rows;
    return rows;
  }

  template <class OutputEpilogue>
  [[gnu::noinline]] static void multiply_narrow_values(const Arguments& arguments, const OutputEpilogue& epilogue,
                                                       const AttentionGeometry& geometry, const Task& task,
                                                       const float* sums, int64_t row, int64_t rows) {
    constexpr int some_rows = narrow_rows();
    for (int64_t first = 0; first < rows; first += some_rows) {
      vec products[some_rows][narrow_columns] = {};
      for (int64_t block = 0; block < geometry.key_blocks; ++block) {
        const float* const scores = task.scores + block * block_stride + first * row_stride;
        const float* const values = task.packed_values + block * narrow_columns * row_stride;
        const int64_t count = smaller(block_keys, arguments.sizes.keys - block * block_keys);
#pragma clang loop unroll(disable)
        for (int64_t key = 0; key < count; key += lanes)
          add_products<(narrow_columns < some_rows), some_rows>(scores + key, values + key, products);
      }
      vec finished[some_rows][narrow_columns];
      for (int i = 0; i < some_rows; ++i)
        for (int column = 0; column < narrow_columns; ++column) finished[i][column] = products[i][column];
      asm("" : "+m"(finished));
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < smaller(some_rows, rows - first); ++i) {
        float result[lanes] = {};
        for (int column = 0; column < narrow_columns; ++column) result[column] = sum_lanes(finished[i][column]);
        finish(arguments, epilogue, task, row + first + i, 0, load(result) / splat(sums[first + i]));
      }
    }
  }

  template <class OutputEpilogue>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const OutputEpilogue& epilogue,
                                            const Task& task, int64_t row, int64_t column, vec value) {
    MatrixPosition position = task.matrix;
    position.row = row;
    position.column = column;
    position.offset += row * arguments.output_view.row_stride + column;
    position.count = smaller(lanes, arguments.sizes.columns - column);
    float* const destination = arguments.output + position.offset;
    if (position.count == lanes) {
      position.count = lanes;
      store(destination, epilogue(value, position));
    } else {
      store_partial(destination, epilogue(value, position), position.count);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
