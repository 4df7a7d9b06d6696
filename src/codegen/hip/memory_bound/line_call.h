// The common part of the offers of normalised lines: their plan, its cost, and the step of the call.
#pragma once

#include <functional>
#include <optional>

#include "codegen/hip/call/kernel_rows.h"
#include "codegen/hip/memory_bound/line_spec.h"
#include "ops/op.h"
#include "passes/lowering/lower.h"

namespace onnxc {

// The names under which the kernel passes indices, in the order of the axes in memory.
inline constexpr const char* index_names[] = {"n", "g", "c", "d", "h", "w"};

// For a row-major tensor, the axes from `first` to `end` being normalised together.
Lines row_major_lines(LineKind kind, const Shape& shape, size_t first, size_t end);

// Size hints (usual_size.h) stand in for sizes that only a run knows.
LineShape shape_of(const Lines& lines, const HipProblem& problem);
// With a block for whole lines, or for each chunk of one.
PlannedLines plan_lines(const HipProblem& problem, Lines lines, const GpuMachine& gpu);
PlannedLines plan_chunks(const HipProblem& problem, Lines lines, int64_t common_lines, const GpuMachine& gpu);
// False if sizes that the compile knows are more than the kernels count.
bool may_count(const PlannedLines& planned);
// The expected microseconds of its launches, for one image if only a run knows the batch of instances.
std::optional<double> cost_of(const PlannedLines& planned, const Graph& graph);

// The accumulator times the scale, and plus the shift if there is one. `place` gives an element's indices in a
// parameter.
Epilogue scaled_epilogue(const Node& node, LoweringContext& context,
                         const std::function<std::vector<Expr>(const Operand&, const std::vector<Expr>&)>& place);
// Adds the step of the kernel that reads and writes this layout.
void emit_lines(const Node& node, PlannedLines planned, const Layout& layout, Epilogue epilogue,
                LoweringContext& context);

// Whether the kernels have the types of a node's first input and output, and so many axes.
bool has_kernel_types(const Node& node);
bool has_axes_for_lines(const Node& node);

}  // namespace onnxc
