// What the epilogue sees in a kernel that stores rows of a row-major tensor.
#pragma once

#include "kernels/cpu/matmul/matmul_geometry.h"
#include "kernels/cpu/vector/vector.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

// The output position of the accumulator that is about to be stored. Only the first `count` lanes are stored: an
// epilogue loads its operands with load_partial(source, count), a plain load where `count` is known to be `lanes`.
struct MatrixPosition {
  int64_t batch[MatmulSizes::batch_rank];
  int64_t row;
  int64_t column;  // of the first lane
  int64_t offset;  // of the first lane, in elements from the start of the output
  int64_t count;
};

struct NoMatrixEpilogue {
  [[gnu::always_inline]] vec operator()(vec accumulator, const MatrixPosition&) const { return accumulator; }
};

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
