// Batched product of row-major bytes with a constant matrix, with exact sums in int32: output[batch, m, n] =
// epilogue(sum over k of (a[batch, m, k] - zero point) * b[k, n]).
//
// Problem: MatMulInteger, and MatMul and Gemm between DequantizeLinear and QuantizeLinear. Method: conv_int8.h's of one
// tap. A task copies its rows of a as unsigned bytes (an int8 is 128 more). A register tile is 12 rows by two vectors
// of columns (4 by two with AVX2): for each quad of the depth one load of each vector of b, and a broadcast of each
// row's four bytes. The zero point may be known only to the run, as DynamicQuantizeLinear gives it: the products of a
// zero point of 1 are packed, and multiplied by it.
//
// Limits: b is constant and has no batch axes; a's rows are contiguous. Bound by: products, one VPDPBUSD for 64 of
// them; with few rows by reading b.
#pragma once

#include "kernels/cpu/matmul/matrix_position.h"
#include "kernels/cpu/matmul_int8/matmul_int8_geometry.h"
#include "kernels/cpu/vector/int8_quads.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <class A, class Output, class Epilogue>
class ByteMatrixProduct {
 public:
  using Arguments = PackedMatmulArguments<A, uint8_t, Output>;  // b as byte_matrix_packing has it

  static KernelWork work(const MatmulSizes& sizes) { return byte_matmul_geometry(lanes, sizes).work; }

  // Runs tasks [task_begin, task_end) of work().tasks; the scratch holds work().scratch_bytes.
  static void run(const Arguments& arguments, const Epilogue& epilogue, int64_t task_begin, int64_t task_end,
                  void* scratch) {
    const ByteMatmulGeometry geometry = byte_matmul_geometry(lanes, arguments.sizes);
    for (int64_t index = task_begin; index < task_end; ++index)
      run_task(arguments, epilogue, locate(arguments, geometry, index, static_cast<uint8_t*>(scratch)));
  }

 private:
  static constexpr int64_t tile_rows = int8_tile_voxels(lanes);

  // The work of a task: a block of one matrix of the batch.
  struct Task {
    const A* a;  // the first row
    uint8_t* copy;
    int64_t row_begin, rows, row_bytes;
    int64_t chunk_begin, chunk_end;
    MatrixPosition matrix;  // batch, and offset of the output's matrix
  };

  static Task locate(const Arguments& arguments, const ByteMatmulGeometry& geometry, int64_t index, uint8_t* copy) {
    const MatmulSizes& sizes = arguments.sizes;
    // Blocks of rows run fastest: they share b.
    const int64_t row_begin = index % geometry.row_blocks * geometry.block_rows;
    index /= geometry.row_blocks;
    const int64_t chunk_begin = index % geometry.columns.splits * geometry.columns.units;
    index /= geometry.columns.splits;
    Task task{arguments.a + row_begin * arguments.a_view.row_stride,
              copy,
              row_begin,
              smaller(geometry.block_rows, sizes.rows - row_begin),
              geometry.row_bytes,
              chunk_begin,
              smaller(chunk_begin + geometry.columns.units, divide_up(sizes.columns, 2 * lanes)),
              {}};
    for_each_batch_axis(sizes.batch, index, [&](int axis, int64_t i) {
      task.a += i * arguments.a_view.batch_strides[axis];
      task.matrix.batch[axis] = i;
      task.matrix.offset += i * arguments.output_view.batch_strides[axis];
    });
    return task;
  }

  static void run_task(const Arguments& arguments, const Epilogue& epilogue, const Task& task) {
    copy_rows(arguments, task);
    const Int8Packing packing = byte_matrix_packing(arguments.sizes.depth, arguments.sizes.columns, lanes);
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      if (packing.chunk_blocks(chunk) == 2)
        multiply_chunk<2>(arguments, epilogue, task, packing, chunk);
      else
        multiply_chunk<1>(arguments, epilogue, task, packing, chunk);
    }
  }

  static void copy_rows(const Arguments& arguments, const Task& task) {
    const int64_t depth = arguments.sizes.depth;
    for (int64_t row = 0; row < task.rows; ++row) {
      const A* const source = task.a + row * arguments.a_view.row_stride;
      uint8_t* const copy = task.copy + row * task.row_bytes;
      for (int64_t k = 0; k < depth; ++k) copy[k] = as_unsigned(source[k]);
      for (int64_t k = depth; k < task.row_bytes; ++k) copy[k] = 0;  // times weights of zero
    }
    // The last tile reads whole.
    const int64_t end = round_up(task.rows, tile_rows);
    __builtin_memset(task.copy + task.rows * task.row_bytes, 0,
                     static_cast<size_t>((end - task.rows) * task.row_bytes));
  }

  // All the task's rows by one chunk. The last tile is the smallest that holds what is left.
  template <int64_t blocks>
  static void multiply_chunk(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                             const Int8Packing& packing, int64_t chunk) {
    for (int64_t row = 0; row < task.rows; row += tile_rows) {
      const int64_t rows = smaller(tile_rows, task.rows - row);
      if (rows == 1)
        multiply_tile<1, blocks>(arguments, epilogue, task, packing, chunk, row, rows);
      else if (rows <= 4)
        multiply_tile<4, blocks>(arguments, epilogue, task, packing, chunk, row, rows);
      else
        multiply_tile<tile_rows, blocks>(arguments, epilogue, task, packing, chunk, row, rows);
    }
  }

  template <int64_t rows_of_tile, int64_t blocks>
  [[gnu::noinline]] static void multiply_tile(const Arguments& arguments, const Epilogue& epilogue, const Task& task,
                                              const Int8Packing& packing, int64_t chunk, int64_t row, int64_t rows) {
    constexpr int64_t vector = int64_t{lanes} * 4;
    const uint8_t* b = arguments.b + packing.chunk_offset(chunk);
    const int64_t quads = task.row_bytes / 4;
    const vec_int32 zero_point = splat(int32_t{as_unsigned(arguments.zero_point)});
    vec_int32 sums[rows_of_tile][blocks];
#pragma clang loop unroll(full)
    for (int64_t block = 0; block < blocks; ++block, b += vector) {
      const vec_int32 start = multiply(load_words(b), zero_point);
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < rows_of_tile; ++i) sums[i][block] = start;
    }
    const uint8_t* a = task.copy + row * task.row_bytes;
#pragma clang loop unroll(disable)
    for (int64_t quad = 0; quad < quads; ++quad, a += 4, b += blocks * vector) {
      vec_int32 w[blocks];
#pragma clang loop unroll(full)
      for (int64_t block = 0; block < blocks; ++block) w[block] = load_words(b + block * vector);
#pragma clang loop unroll(full)
      for (int64_t i = 0; i < rows_of_tile; ++i) {
        const vec_int32 x = load_splat_word(a + i * task.row_bytes);
#pragma clang loop unroll(full)
        for (int64_t block = 0; block < blocks; ++block) sums[i][block] = add_quads(sums[i][block], x, w[block]);
      }
    }
    vec_int32 finished[rows_of_tile][blocks];
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < rows_of_tile; ++i)
#pragma clang loop unroll(full)
      for (int64_t block = 0; block < blocks; ++block) finished[i][block] = sums[i][block];
    asm("" : "+m"(finished));  // the sums leave their registers here, so that the epilogue has them all
#pragma clang loop unroll(disable)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t block = 0; block < blocks; ++block)
        store_columns(arguments.output, arguments.output_view.row_stride, task.matrix, task.row_begin + row + i,
                      (2 * chunk + block) * lanes, arguments.sizes.columns, epilogue, finished[i][block]);
  }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
