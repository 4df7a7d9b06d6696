// Batched matrix product of row-major matrices: output[batch, m, n] = epilogue(sum over k of a[batch, m, k] * b[batch,
// k, n]).
//
// Operands are float, float16 or bfloat16 with any strides (transposed, broadcast along batch axes, part of a larger
// tensor); output rows are contiguous; sums are in float. Method: a register tile is some rows by two vectors of
// columns. For each k one element of each row of a is broadcast against two vectors of b. b is read from panels two
// vectors wide: a constant b is packed at compile time, otherwise a task packs each panel when it reaches it. A task
// copies its rows of a, one block of the depth at a time, to rows at a constant distance, so that the tile addresses
// all of them from one pointer. With a single row (a fully connected layer) b is streamed once, and several sets of
// accumulators hide the FMA's latency. Only the sizes fix the order of each sum: with several rows, each has the same
// bits at any place. Limits: a sum is never split over tasks, so few columns with a very long depth use few threads.
#pragma once

#include "kernels/cpu/matmul/matmul_geometry.h"
#include "kernels/cpu/matmul/matrix_position.h"
#include "kernels/cpu/vector/transpose.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class A, class B, class Output>
struct MatmulArguments {
  const A* a;
  const B* b;  // packed (MatmulPacking), or a plain matrix
  Output* output;
  MatmulSizes sizes;
  MatrixView a_view;
  MatrixView b_view;       // of a packed b only the batch strides count
  MatrixView output_view;  // column_stride is 1
};

namespace detail {

// Copies a block of a matrix to float rows `row_distance` apart.
template <class T>
inline void copy_rows(const T* source, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t columns,
                      float* destination, int64_t row_distance) {
  if (column_stride == 1) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        destination[row * row_distance + column] = static_cast<float>(source[row * row_stride + column]);
  } else {
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row)
        destination[row * row_distance + column] =
            static_cast<float>(source[row * row_stride + column * column_stride]);
  }
}

// Copies a block of rows that are one element apart (columns of a transposed matrix); squares are transposed in
// registers. `width`, a multiple of the lanes, is the destination's leading dimension. Each row's elements past
// `columns` become zero.
template <class T>
inline void copy_transposed(const T* source, int64_t column_stride, int64_t rows, int64_t columns, int64_t width,
                            float* destination) {
  for (int64_t column = 0; column < width; column += lanes)
    for (int64_t row = 0; row < rows; row += lanes) {
      const int64_t count = smaller(lanes, rows - row);
      vec square[lanes];
      for (int i = 0; i < lanes; ++i)
        square[i] = column + i < columns ? load_partial(source + row + (column + i) * column_stride, count) : vec(0.0f);
      transpose(square);
      for (int i = 0; i < count; ++i) store(destination + (row + i) * width + column, square[i]);
    }
}

// Copies a block of contiguous rows; each row's elements past `columns` become zero.
template <class T>
inline void copy_padded(const T* source, int64_t row_stride, int64_t rows, int64_t columns, int64_t width,
                        float* destination) {
  for (int64_t column = 0; column < width; column += lanes) {
    const int64_t count = columns - column;
    for (int64_t row = 0; row < rows; ++row) {
      const T* elements = source + row * row_stride + column;
      store(destination + row * width + column, count >= lanes ? load(elements) : load_partial(elements, count));
    }
  }
}

// Converts a block of `depth` rows of a panel to floats [depth][width]; each row's elements past `columns` become zero.
template <class T>
inline void pack_panel(const T* source, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                       int64_t width, float* packed) {
  if (column_stride == 1) {
    copy_padded(source, row_stride, depth, columns, width, packed);
  } else if (row_stride == 1) {
    copy_transposed(source, column_stride, depth, columns, width, packed);
  } else {
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t i = columns; i < width; ++i) packed[k * width + i] = 0.0f;
    copy_rows(source, row_stride, column_stride, depth, columns, packed, width);
  }
}

// Adds the products of `tile_rows` rows of a, `a_row_stride` apart, with the `depth` rows of b, each of `blocks`
// vectors.
template <int tile_rows, int blocks, int64_t a_row_stride, class Element>
[[gnu::always_inline]] inline void accumulate_tile(const float* a, const Element* b, int64_t depth,
                                                   vec (&accumulators)[tile_rows][blocks]) {
#pragma clang loop unroll_count(4)
  for (int64_t k = 0; k < depth; ++k) {
    vec row[blocks];
    for (int j = 0; j < blocks; ++j) row[j] = load(b + (k * blocks + j) * lanes);
#pragma clang loop unroll(full)
    for (int i = 0; i < tile_rows; ++i) {
      const vec element = load_splat(a + i * a_row_stride + k);
#pragma clang loop unroll(full)
      for (int j = 0; j < blocks; ++j) accumulators[i][j] = fma(element, row[j], accumulators[i][j]);
    }
  }
}

}  // namespace detail

// The operands of MatrixProduct; with `b_is_packed` b has been packed before.
template <class A, class B, class Output, class Epilogue, bool b_is_packed>
class MatrixProduct {
 public:
  using Arguments = MatmulArguments<A, B, Output>;

  static KernelWork work(const MatmulSizes& sizes) { return matmul_geometry(lanes, sizes, b_is_packed).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const MatmulGeometry geometry = matmul_geometry(lanes, arguments.sizes, b_is_packed);
    for (int64_t index = task_begin; index < task_end; ++index)
      run_task(arguments, epilogue, geometry, locate(arguments, geometry, index), static_cast<float*>(scratch));
  }

 private:
  static constexpr int most_tile_rows = target_unit.tile_rows();
  static constexpr int64_t a_row_stride = MatmulGeometry::a_row_stride;

  // The work of a task: a block of one matrix of the batch.
  struct Task {
    const A* a;  // the operands' matrices
    const B* b;
    int64_t row_begin, rows;
    int64_t panel_begin, panel_end;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
  };

  // A block of the depth for one panel. `Element` is the type that b is read as.
  template <class Element>
  struct Panel {
    const float* a;    // rows at a distance of a_row_stride
    const Element* b;  // [depth][width]
    int64_t depth;
    int64_t column;
    float* partial_sums;  // of the panel: [row][width]
    bool is_first, is_last;
  };

  static Task locate(const Arguments& arguments, const MatmulGeometry& geometry, int64_t index) {
    const MatmulSizes& sizes = arguments.sizes;
    // Blocks of rows run fastest: they share b.
    const int64_t row_begin = index % geometry.row_blocks * geometry.block_rows;
    index /= geometry.row_blocks;
    const int64_t panel_begin = index % geometry.column_blocks * geometry.block_panels;
    index /= geometry.column_blocks;
    Task task{arguments.a, arguments.b,
              row_begin,   smaller(geometry.block_rows, sizes.rows - row_begin),
              panel_begin, smaller(panel_begin + geometry.block_panels, packing(sizes).panels()),
              {}};
    for_each_batch_axis(sizes.batch, index, [&](int axis, int64_t i) {
      task.a += i * arguments.a_view.batch_strides[axis];
      task.b += i * arguments.b_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    });
    return task;
  }

  static MatmulPacking packing(const MatmulSizes& sizes) { return {sizes.depth, sizes.columns, lanes}; }

  static void run_task(const Arguments& arguments, const Epilogue& epilogue, const MatmulGeometry& geometry,
                       const Task& task, float* scratch) {
    float* const packed_a = scratch;
    float* const packed_b = packed_a + geometry.packed_a;
    float* const partial_sums = packed_b + geometry.packed_b;
    for (int64_t block = 0; block < geometry.depth_blocks; ++block) {
      const int64_t begin = block * geometry.block_depth;
      const int64_t depth = smaller(geometry.block_depth, arguments.sizes.depth - begin);
      pack_a(arguments, task, begin, depth, packed_a);
      for (int64_t index = task.panel_begin; index < task.panel_end; ++index) {
        const int64_t column = index * packing(arguments.sizes).panel_columns();
        float* const sums = partial_sums + (index - task.panel_begin) * geometry.block_rows * 2 * lanes;
        const auto* b = panel_of_b(arguments, task, index, begin, depth, packed_b);
        const Panel<__remove_cvref(decltype(*b))> panel{
            packed_a, b, depth, column, sums, block == 0, block + 1 == geometry.depth_blocks};
        if (arguments.sizes.columns - column > lanes)
          multiply_panel<2>(arguments, epilogue, task, panel);
        else
          multiply_panel<1>(arguments, epilogue, task, panel);
      }
    }
  }

  // ---- packing

  static void pack_a(const Arguments& arguments, const Task& task, int64_t begin, int64_t depth, float* packed) {
    const MatrixView& view = arguments.a_view;
    detail::copy_rows(task.a + task.row_begin * view.row_stride + begin * view.column_stride, view.row_stride,
                      view.column_stride, task.rows, depth, packed, a_row_stride);
    if (arguments.sizes.rows == 1) return;
    // The last tile may have more rows than are left.
    for (int64_t row = task.rows; row < round_up(task.rows, most_tile_rows); ++row)
      for (int64_t k = 0; k < depth; ++k) packed[row * a_row_stride + k] = 0.0f;
  }

  // A block of the depth of one panel, packed now unless b is constant.
  static auto panel_of_b(const Arguments& arguments, const Task& task, int64_t index, int64_t begin, int64_t depth,
                         float* packed) {
    const MatmulPacking layout = packing(arguments.sizes);
    const int64_t width = layout.panel_width(index);
    if constexpr (b_is_packed) {
      return task.b + layout.panel_offset(index) + begin * width;
    } else {
      const MatrixView& view = arguments.b_view;
      const int64_t column = index * layout.panel_columns();
      const int64_t columns = smaller(width, arguments.sizes.columns - column);
      const B* source = task.b + begin * view.row_stride + column * view.column_stride;
      detail::pack_panel(source, view.row_stride, view.column_stride, depth, columns, width, packed);
      return static_cast<const float*>(packed);
    }
  }

  // ---- the product

  // All the task's rows by one panel. The last tile is the smallest that holds what is left; a last row of many is not
  // summed as a single one is, but as those before it.
  template <int blocks, class Element>
  static void multiply_panel(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                             const Panel<Element>& panel) {
    for (int64_t row = 0; row < task.rows; row += most_tile_rows) {
      const int64_t rows = smaller(most_tile_rows, task.rows - row);
      if (arguments.sizes.rows == 1)
        multiply_tile<1, blocks>(arguments, epilogue, task, panel, row, rows);
      else if (rows <= most_tile_rows / 4 + 1)
        multiply_tile<most_tile_rows / 4 + 1, blocks>(arguments, epilogue, task, panel, row, rows);
      else if (rows <= most_tile_rows / 2)
        multiply_tile<most_tile_rows / 2, blocks>(arguments, epilogue, task, panel, row, rows);
      else
        multiply_tile<most_tile_rows, blocks>(arguments, epilogue, task, panel, row, rows);
    }
  }

  template <int tile_rows, int blocks, class Element>
  [[gnu::noinline]] static void multiply_tile(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                              const Panel<Element>& panel, int64_t row, int64_t rows) {
    constexpr int width = blocks * lanes;
    float* const sums = panel.partial_sums + row * width;
    vec accumulators[tile_rows][blocks];
    for (int i = 0; i < tile_rows; ++i)
      for (int b = 0; b < blocks; ++b)
        accumulators[i][b] = panel.is_first ? splat(0.0f) : load(sums + i * width + b * lanes);
    if constexpr (tile_rows == 1)
      accumulate_row<blocks>(panel.a + row * a_row_stride, panel.b, panel.depth, accumulators[0]);
    else
      detail::accumulate_tile<tile_rows, blocks, a_row_stride>(panel.a + row * a_row_stride, panel.b, panel.depth,
                                                               accumulators);
    if (!panel.is_last) {
      for (int i = 0; i < tile_rows; ++i)
        for (int b = 0; b < blocks; ++b) store(sums + i * width + b * lanes, accumulators[i][b]);
      return;
    }
    vec finished[tile_rows][blocks];
    for (int i = 0; i < tile_rows; ++i)
      for (int b = 0; b < blocks; ++b) finished[i][b] = accumulators[i][b];
    asm("" : "+m"(finished));  // the accumulators leave their registers here, so that the epilogue has them all
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < rows; ++i)
      for (int b = 0; b < blocks; ++b)
        store_columns(arguments.output, arguments.output_view.row_stride, task.matrix, task.row_begin + row + i,
                      panel.column + b * lanes, arguments.sizes.columns, epilogue, finished[i][b]);
  }

  // One row: memory is what limits, if only enough sums run side by side.
  template <int blocks, class Element>
  [[gnu::always_inline]] static void accumulate_row(const float* a, const Element* b, int64_t depth,
                                                    vec (&accumulators)[blocks]) {
    constexpr int sets = 4;
    constexpr int64_t chain = 128;  // of products that one sum takes up: a long chain loses digits
    constexpr int64_t prefetch_distance = 2048 / static_cast<int64_t>(sizeof(Element));
    for (int64_t k = 0; k < depth;) {
      vec partial[sets][blocks] = {};
      const int64_t end = smaller(depth, k + sets * chain);
      for (; k + sets <= end; k += sets) {
#pragma clang loop unroll(full)
        for (int s = 0; s < sets; ++s) {
#pragma clang loop unroll(full)
          for (int j = 0; j < blocks; ++j) {
            const Element* elements = b + ((k + s) * blocks + j) * lanes;
            __builtin_prefetch(elements + prefetch_distance);
            partial[s][j] = fma(load_splat(a + k + s), load(elements), partial[s][j]);
          }
        }
      }
      for (; k < end; ++k)
        for (int j = 0; j < blocks; ++j)
          partial[0][j] = fma(load_splat(a + k), load(b + (k * blocks + j) * lanes), partial[0][j]);
      for (int j = 0; j < blocks; ++j)
        accumulators[j] += (partial[0][j] + partial[1][j]) + (partial[2][j] + partial[3][j]);
    }
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
