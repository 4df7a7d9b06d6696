// How blocks of threads process normalised lines (kernels/hip/memory_bound/normalized_lines.h, normalized_chunks.h),
// and the expected cost: pure functions.
#pragma once

#include <optional>

#include "codegen/hip/gemm/gemm_choice.h"
#include "kernels/hip/memory_bound/line_geometry.h"

namespace onnxc {

// The lines as they lie in memory; sizes that only a run knows are size hints (passes/lowering/usual_size.h).
struct LineShape {
  kernels::LineKind kind;
  int outer_axes, line_axes;
  int64_t outer, columns, inner;
  bool columns_are_known;
  bool is_contiguous;       // there is no inner axis, or it is known to be 1
  bool is_blocked = false;  // the inner axis is the lanes of a block of channels
  int64_t group_lanes = 1;
  int64_t element_size = 4;  // of the larger of input and output
};

kernels::LinePlan choose_lines(const LineShape& shape, const machine::GpuMachine& gpu);

// The plan of lines in blocks of channels with as many threads for each as it has elements, up to a whole block of
// them.
kernels::LinePlan line_a_block(kernels::LinePlan plan);

// Whether the lines are so long and so few that one block each would leave most compute units idle.
bool are_few_and_long(const LineShape& shape, const machine::GpuMachine& gpu);
// The plan with one block for each chunk of such lines.
kernels::LinePlan choose_chunks(const LineShape& shape, const machine::GpuMachine& gpu);

// One launch: each element is read once or, in lines that a block does not hold, twice, and stored.
GpuEstimate estimate_lines(const kernels::LinePlan& plan, const kernels::LineSizes& sizes, int64_t element_size,
                           const GpuMachine& gpu);

// The launches of lines in chunks.
struct ChunkEstimate {
  GpuEstimate statistics;           // of the parts
  std::optional<GpuEstimate> fold;  // of many parts; nothing if they are not folded
  GpuEstimate normalized;

  double microseconds() const;  // of all of them, with what launches after the first cost
};
// `part_columns`: the elements of a part; 0: as many as the plan has. `common_lines`: with the same statistics.
ChunkEstimate estimate_chunks(const kernels::LinePlan& plan, const kernels::LineSizes& sizes, int64_t part_columns,
                              int64_t common_lines, int64_t element_size, const GpuMachine& gpu);

}  // namespace onnxc
