// Attention in one kernel: the product of queries and keys, a softmax over the keys, and the product with the values.
//
// Problem: output[b, i, e] = epilogue(sum over j of p[b, i, j] * v[b, j, e]), p = softmax over j of inner epilogue(sum
// over d of q[b, i, d] * k[b, d, j]). The inner epilogue scales the scores and adds biases and masks. Separate steps
// would write the scores to memory once and read them three times; with few features a head that takes longer than all
// arithmetic. Method: a task processes one tile of queries at a time. The register tile of matmul.h computes the tile's
// scores against two vectors of keys, applies the inner epilogue in registers, keeps the maximum of each row and stores
// the scores to scratch. Each score then becomes a weight (its exponential), which is multiplied with the values; the
// result is divided by the sum of the weights. If the values have fewer columns than half a vector, the lanes of the
// second product are keys, since columns would leave most of a vector empty, and the weights stay in registers. A task
// reads all its data, packed keys and values included, from cache. Only the sizes fix the order of each sum. Limits:
// depth at most 384. A row of scores that is all -inf, or has a NaN or +inf, gives NaN, as Softmax does. The result is
// divided by the sum of exponentials, not each weight: values above FLT_MAX / number of keys overflow. Bound by: vector
// instructions (21 a score with four features a head, nine of them for the exponential), then biases and masks, which
// come from further away than the scores; otherwise FMA throughput.
#pragma once

#include "kernels/cpu/attention/attention_geometry.h"
#include "kernels/cpu/matmul/matmul.h"
#include "kernels/cpu/vector/light_epilogue.h"
#include "kernels/cpu/vector/normal_exponential.h"
#include "kernels/cpu/vector/transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class Input, class Output>
struct AttentionArguments {
  const Input* queries;
  const Input* keys;  // [depth][key]
  const Input* values;
  Output* output;
  AttentionSizes sizes;
  MatrixView query_view;
  MatrixView key_view;
  MatrixView value_view;
  MatrixView output_view;  // column_stride is 1
};

// `narrow_columns`: the columns of a value if they are known and at most half a vector, else 0. The storage types are
// those of the operands; arithmetic, scores and weights are float.
template <int64_t narrow_columns, class Input, class Output, class Epilogues>
class Attention {
 public:
  using Arguments = AttentionArguments<Input, Output>;

  static AttentionGeometry geometry(const AttentionSizes& sizes) {
    return attention_geometry(lanes, sizes, narrow_columns != 0);
  }
  static KernelWork work(const AttentionSizes& sizes) { return geometry(sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogues& epilogues, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const AttentionGeometry geometry = Attention::geometry(arguments.sizes);
    auto* const floats = static_cast<float*>(scratch);
    for (int64_t index = task_begin; index < task_end; ++index) {
      const int64_t first = index / geometry.ranges * geometry.task_batches;
      const int64_t last = smaller(first + geometry.task_batches, arguments.sizes.batches());
      // The task before has left the same keys and values.
      if (index == task_begin || index % geometry.ranges == 0)
        for (int64_t batch = first; batch < last; ++batch) {
          const Task task = locate(arguments, geometry, batch, batch - first, floats);
          pack_keys(arguments, task);
          pack_values(arguments, geometry, task);
        }
      const int64_t begin = index % geometry.ranges * geometry.task_queries;
      const int64_t end = smaller(begin + geometry.task_queries, arguments.sizes.queries);
      for (int64_t row = begin; row < end; row += tile_rows)
        for (int64_t batch = first; batch < last; ++batch)
          run_tile(arguments, epilogues, geometry, locate(arguments, geometry, batch, batch - first, floats), row,
                   smaller(tile_rows, end - row));
    }
  }

 private:
  static constexpr int tile_rows = target_unit.tile_rows();
  static constexpr int64_t row_stride = AttentionGeometry::row_stride;
  static constexpr int64_t block_keys = AttentionGeometry::block_keys;
  static constexpr int64_t block_stride = tile_rows * row_stride;  // of scores

  struct Task {
    const Input* queries;
    const Input* keys;
    const Input* values;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
    float* packed_queries;
    float* packed_keys;
    float* packed_values;
    float* scores;
  };

  // `index`: of the batch among those of its task.
  static Task locate(const Arguments& arguments, const AttentionGeometry& geometry, int64_t batch, int64_t index,
                     float* scratch) {
    Task task{arguments.queries, arguments.keys, arguments.values, {}, scratch, nullptr, nullptr, nullptr};
    task.scores = scratch + geometry.packed_queries;
    task.packed_keys = task.scores + geometry.scores + index * (geometry.packed_keys + geometry.packed_values);
    task.packed_values = task.packed_keys + geometry.packed_keys;
    for_each_batch_axis(arguments.sizes.batch, batch, [&](int axis, int64_t i) {
      task.queries += i * arguments.query_view.batch_strides[axis];
      task.keys += i * arguments.key_view.batch_strides[axis];
      task.values += i * arguments.value_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    });
    return task;
  }

  // ---- packing

  static void pack_panels(const Input* source, const MatrixView& view, const MatmulPacking& packing, float* packed) {
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
      for (int64_t key = 0; key < geometry.key_blocks * block_keys; key += lanes) {
        vec square[lanes];
        for (int i = 0; i < lanes; ++i) {
          const Input* const value = task.values + (key + i) * view.row_stride;
          square[i] = splat(0.0f);
          if (key + i >= arguments.sizes.keys) continue;
          if (view.column_stride == 1)
            square[i] = load_partial(value, narrow_columns);
          else
            for (int column = 0; column < narrow_columns; ++column)
              square[i][column] = static_cast<float>(value[column * view.column_stride]);
        }
        transpose(square);
        float* const packed = task.packed_values + key / block_keys * narrow_columns * row_stride + key % block_keys;
        for (int column = 0; column < narrow_columns; ++column) store(packed + column * row_stride, square[column]);
      }
    }
  }

  // ---- a tile of queries

  static void run_tile(const Arguments& arguments, const Epilogues& epilogues, const AttentionGeometry& geometry,
                       const Task& task, int64_t row, int64_t rows) {
    const MatrixView& view = arguments.query_view;
    detail::copy_rows(task.queries + row * view.row_stride, view.row_stride, view.column_stride, rows,
                      arguments.sizes.depth, task.packed_queries, row_stride);
    // The surplus rows of a tile compute with zeros.
    for (int64_t i = rows; i < tile_rows; ++i)
      for (int64_t k = 0; k < arguments.sizes.depth; ++k) task.packed_queries[i * row_stride + k] = 0.0f;
    float largest[tile_rows];
    multiply_keys(arguments, epilogues.inner, task, row, rows, largest);
    if constexpr (narrow_columns == 0) {
      float sums[tile_rows];
      for (int64_t i = 0; i < rows; ++i) sums[i] = weights_of_row(arguments.sizes.keys, task, largest[i], i);
      multiply_values(arguments, epilogues.outer, task, sums, row, rows);
    } else {
      multiply_narrow_values(arguments, epilogues.outer, geometry, task, largest, row, rows);
    }
  }

  // The scores of the tile after their epilogue, -inf past the last key, and the largest of each row that is not NaN.
  template <class ScoreEpilogue>
  static void multiply_keys(const Arguments& arguments, const ScoreEpilogue& epilogue, const Task& task, int64_t row,
                            int64_t rows, float* largest) {
    vec maxima[tile_rows];
    for (vec& each : maxima) each = splat(-__builtin_inff());
    const MatmulPacking packing = arguments.sizes.key_packing(lanes);
    for (int64_t index = 0; index < packing.panels(); ++index) {
      const int64_t key = index * packing.panel_columns(), width = packing.panel_width(index);
      const bool is_whole = rows == tile_rows && key + width <= arguments.sizes.keys;
      const auto multiply = width > lanes ? is_whole
                                                ? multiply_panel<2, is_light_epilogue<ScoreEpilogue>, ScoreEpilogue>
                                                : multiply_panel<2, false, ScoreEpilogue>
                            : is_whole ? multiply_panel<1, is_light_epilogue<ScoreEpilogue>, ScoreEpilogue>
                                          : multiply_panel<1, false, ScoreEpilogue>;
      multiply(arguments, epilogue, task, task.packed_keys + packing.panel_offset(index), row, rows, key, maxima);
    }
    for (int64_t i = 0; i < tile_rows; ++i) largest[i] = i < rows ? largest_lane(maxima[i]) : 0.0f;
  }

  // `in_registers`: the panel and the tile are whole, and the epilogue needs few registers.
  template <int blocks, bool in_registers, class ScoreEpilogue>
  [[gnu::noinline]] static void multiply_panel(const Arguments& arguments, const ScoreEpilogue& epilogue,
                                               const Task& task, const float* keys, int64_t row, int64_t rows,
                                               int64_t key, vec (&maxima)[tile_rows]) {
    vec sums[tile_rows][blocks] = {};
    detail::accumulate_tile<tile_rows, blocks, row_stride>(task.packed_queries, keys, arguments.sizes.depth, sums);
    float* const scores = task.scores + key / block_keys * block_stride + key % block_keys;
    MatrixPosition position = task.matrix;
    position.offset = 0;  // the scores stand nowhere
    position.count = lanes;
    if constexpr (in_registers) {
#pragma clang loop unroll(full)
      for (int i = 0; i < tile_rows; ++i)
#pragma clang loop unroll(full)
        for (int b = 0; b < blocks; ++b) {
          position.row = row + i;
          position.column = key + b * lanes;
          const vec score = epilogue(sums[i][b], position);
          store(scores + i * row_stride + b * lanes, score);
          maxima[i] = score > maxima[i] ? score : maxima[i];
        }
    } else {
      vec finished[tile_rows][blocks];
      for (int i = 0; i < tile_rows; ++i)
        for (int b = 0; b < blocks; ++b) finished[i][b] = sums[i][b];
      asm("" : "+m"(finished));  // the sums leave their registers here, so that the epilogue has them all
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < rows; ++i)
        for (int b = 0; b < blocks; ++b) {
          position.row = row + i;
          position.column = key + b * lanes;
          position.count = smaller(lanes, arguments.sizes.keys - position.column);
          vec score = splat(-__builtin_inff());
          if (position.count > 0) {
            const vec finite = epilogue(finished[i][b], position);
            score = select(first_lanes(position.count), finite, score);
          }
          store(scores + i * row_stride + b * lanes, score);
          maxima[i] = score > maxima[i] ? score : maxima[i];
        }
    }
  }

  static float largest_lane(vec value) {
    float each[lanes];
    store(each, value);
    for (int width = lanes / 2; width > 0; width /= 2)
      for (int i = 0; i < width; ++i) each[i] = each[i] > each[i + width] ? each[i] : each[i + width];
    return each[0];
  }

  // Scores become weights, zero past the last key; returns their sum.
  [[gnu::noinline]] static float weights_of_row(int64_t keys, const Task& task, float largest, int64_t tile_row) {
    constexpr int sets = target_unit.has_many_registers() ? 4 : 1;  // weights at once, with a partial sum each
    vec sums[sets] = {};
    for (int64_t begin = 0; begin < keys; begin += block_keys) {
      float* const block = task.scores + begin / block_keys * block_stride + tile_row * row_stride;
      const int64_t count = round_up(smaller(block_keys, keys - begin), lanes);
      const auto weigh = [&](int64_t i, vec& sum) {
        const vec weight = normal_exponential(load(block + i) - splat(largest));
        store(block + i, weight);
        sum += weight;
      };
      int64_t i = 0;
      for (; i + sets * lanes <= count; i += sets * lanes)
#pragma clang loop unroll(full)
        for (int set = 0; set < sets; ++set) weigh(i + set * lanes, sums[set]);
      for (; i < count; i += lanes) weigh(i, sums[0]);
    }
    for (int distance = sets / 2; distance > 0; distance /= 2)
      for (int i = 0; i < distance; ++i) sums[i] += sums[i + distance];
    return keys == 0 ? 1.0f : sum_lanes(sums[0]);  // the sum of no products is 0
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

  // As many rows at once as there are registers for the sums of their columns and of their weights.
  static constexpr int narrow_rows() {
    int rows = tile_rows;
    while (rows > 1 &&
           (tile_rows % rows != 0 || rows * (narrow_columns + 1) > (target_unit.has_many_registers() ? 15 : 5)))
      --rows;
    return rows;
  }

  // The weights of a vector of keys never leave their registers. The last column is the sum of the weights.
  template <int some_rows>
  [[gnu::always_inline]] static void add_weighted_values(const float* scores, const float* values, const float* largest,
                                                         vec (&sums)[some_rows][narrow_columns + 1]) {
    asm volatile("" : "+r"(largest));  // read from memory each time: the registers are for the sums and the polynomial
#pragma clang loop unroll(full)
    for (int i = 0; i < some_rows; ++i) {
      const vec weight = normal_exponential(load(scores + i * row_stride) - load_splat(largest + i));
#pragma clang loop unroll(full)
      for (int column = 0; column < narrow_columns; ++column)
        sums[i][column] = fma(weight, load(values + column * row_stride), sums[i][column]);
      sums[i][narrow_columns] += weight;
    }
  }

  template <class OutputEpilogue>
  [[gnu::noinline]] static void multiply_narrow_values(const Arguments& arguments, const OutputEpilogue& epilogue,
                                                       const AttentionGeometry& geometry, const Task& task,
                                                       const float* largest, int64_t row, int64_t rows) {
    constexpr int some_rows = narrow_rows();
    for (int64_t first = 0; first < rows; first += some_rows) {
      vec sums[some_rows][narrow_columns + 1] = {};
      for (int64_t block = 0; block < geometry.key_blocks; ++block) {
        const float* const scores = task.scores + block * block_stride + first * row_stride;
        const float* const values = task.packed_values + block * narrow_columns * row_stride;
        const int64_t count = smaller(block_keys, arguments.sizes.keys - block * block_keys);
#pragma clang loop unroll(disable)
        for (int64_t key = 0; key < count; key += lanes)
          add_weighted_values<some_rows>(scores + key, values + key, largest + first, sums);
      }
      vec finished[some_rows][narrow_columns + 1];
      for (int i = 0; i < some_rows; ++i)
        for (int column = 0; column <= narrow_columns; ++column) finished[i][column] = sums[i][column];
      asm("" : "+m"(finished));
#pragma clang loop unroll(disable)
      for (int64_t i = 0; i < smaller(some_rows, rows - first); ++i) {
        float result[lanes] = {};
        for (int column = 0; column < narrow_columns; ++column) result[column] = sum_lanes(finished[i][column]);
        const float sum = arguments.sizes.keys == 0 ? 1.0f : sum_lanes(finished[i][narrow_columns]);
        finish(arguments, epilogue, task, row + first + i, 0, load(result) / splat(sum));
      }
    }
  }

  template <class OutputEpilogue>
  [[gnu::always_inline]] static void finish(const Arguments& arguments, const OutputEpilogue& epilogue,
                                            const Task& task, int64_t row, int64_t column, vec value) {
    store_columns(arguments.output, arguments.output_view.row_stride, task.matrix, row, column, arguments.sizes.columns,
                  epilogue, value);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
