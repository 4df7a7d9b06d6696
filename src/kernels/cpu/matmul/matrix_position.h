// The epilogue's view of an element in a kernel that stores rows of a row-major tensor.
#pragma once

#include "kernels/cpu/matmul/matmul_geometry.h"
#include "kernels/cpu/vector/integers.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The output position of the accumulator that is about to be stored. Only the first `count` lanes are stored: an
// epilogue loads its operands with load_partial(source, count), a plain load if `count` is known to be `lanes`.
struct MatrixPosition {
  int64_t batch[MatmulSizes::batch_rank];
  int64_t row;
  int64_t column;  // of the first lane
  int64_t offset;  // of the first lane, in elements from the start of the output
  int64_t count;
};

// Calls visit(axis, place) for the place of matrix `index` of a batch on each axis; an axis of 1 has none but 0.
template <class Visit>
[[gnu::always_inline]] inline void for_each_batch_axis(const int64_t (&batch)[MatmulSizes::batch_rank], int64_t index,
                                                       const Visit& visit) {
  for (int axis = MatmulSizes::batch_rank - 1; axis >= 0; --axis) {
    if (batch[axis] == 1) continue;  // a division takes as long as ten vectors
    visit(axis, index % batch[axis]);
    index /= batch[axis];
  }
}

// Stores a vector of a matrix, of floats or integers, through the epilogue: its lanes are columns from `column` on, of
// `columns`. `matrix` has the batch and the offset of the matrix.
template <class Output, class Epilogue, class Vector>
[[gnu::always_inline]] inline void store_columns(Output* output, int64_t row_stride, const MatrixPosition& matrix,
                                                 int64_t row, int64_t column, int64_t columns, const Epilogue& epilogue,
                                                 Vector value) {
  MatrixPosition position = matrix;
  position.row = row;
  position.column = column;
  position.offset += row * row_stride + column;
  Output* const destination = output + position.offset;
  if (columns - column >= lanes) {
    position.count = lanes;
    store(destination, epilogue(value, position));
  } else {
    position.count = columns - column;
    store_partial(destination, epilogue(value, position), position.count);
  }
}

struct NoMatrixEpilogue {
  [[gnu::always_inline]] vec operator()(vec accumulator, const MatrixPosition&) const { return accumulator; }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
