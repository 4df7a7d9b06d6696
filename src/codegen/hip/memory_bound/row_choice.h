// How blocks of threads process normalised rows (kernels/hip/memory_bound/normalized_rows.h): one pure function.
#pragma once

#include "kernels/hip/memory_bound/row_geometry.h"

namespace onnxc {

// The rows as they lie in memory; sizes that only a run knows are size hints (passes/lowering/usual_size.h).
struct RowShape {
  kernels::RowKind kind;
  int outer_axes, row_axes;
  int64_t outer, columns, inner;
  bool columns_are_known;
  bool is_contiguous;       // there is no inner axis, or it is known to be 1
  bool is_blocked = false;  // the inner axis is the lanes of a block of channels
  int64_t group_lanes = 1;
  int64_t element_size = 4;  // of the larger of input and output
};

kernels::RowPlan choose_rows(const RowShape& shape, const machine::GpuMachine& gpu);

// The plan of rows in blocks of channels with as many threads for each as it has elements, up to a whole block of them.
kernels::RowPlan row_a_block(kernels::RowPlan plan);

// Whether the rows are so long and so few that one block each would leave most compute units idle.
bool are_few_and_long(const RowShape& shape, const machine::GpuMachine& gpu);
// The plan with one block for each chunk of such rows.
kernels::RowPlan choose_chunks(const RowShape& shape, const machine::GpuMachine& gpu);

}  // namespace onnxc
