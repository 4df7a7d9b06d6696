// How a block of threads takes normalised rows (kernels/normalized_rows.h): one pure function.
#pragma once

#include "kernels/hip/memory_bound/row_geometry.h"

namespace onnxc {

// Rows as they stand in memory; sizes that nobody knows count as what they usually are (codegen/call/usual_size.h).
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

kernels::RowPlan choose_rows(const RowShape& shape);

// Whether the rows are so long and so few that most compute units would be idle with a block for each.
bool are_few_and_long(const RowShape& shape);
// The plan for a chunk of such rows a block.
kernels::RowPlan choose_chunks(const RowShape& shape);

}  // namespace onnxc
