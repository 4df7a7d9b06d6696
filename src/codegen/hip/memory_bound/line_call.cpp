#include "codegen/hip/memory_bound/line_call.h"

#include <algorithm>

#include "codegen/call/kernel_call.h"
#include "passes/lowering/usual_size.h"

namespace onnxc {
namespace {

// Those for which a kernel is costed.
std::optional<LineSizes> usual_sizes(const Lines& lines, const Graph& graph) {
  if (!usual_size(graph, product(lines.extents))) return std::nullopt;
  LineSizes sizes{};
  std::ranges::fill(sizes.extents, 1);
  for (size_t axis = 0; axis < lines.extents.size(); ++axis) {
    const bool counts_images = axis == 0 && lines.is_by_instance && !lines.extents[0].constant();
    const std::optional<int64_t> extent = counts_images ? 1 : usual_size(graph, lines.extents[axis]);
    if (!extent) return std::nullopt;
    sizes.extents[axis] = *extent;
  }
  return sizes;
}

// Whether a block may reach further than 32 bits of bytes count. Offsets of 64 bits cost next to nothing, so that one
// kernel is right for all sizes that only a run knows.
bool may_be_wide(const LinePlan& plan, const Lines& lines) {
  return !plan.is_narrow(lines.columns().bounds().maximum, lines.inner().bounds().maximum);
}

PlannedLines planned_by(LinePlan plan, const LineShape& shape, Lines lines, int64_t common_lines,
                        const GpuMachine& gpu) {
  plan.is_wide = may_be_wide(plan, lines);
  return {std::move(lines), plan, shape.element_size, gpu, common_lines};
}

}  // namespace

Lines row_major_lines(LineKind kind, const Shape& shape, size_t first, size_t end) {
  Lines lines{.kind = kind,
              .extents = shape,
              .outer_axes = static_cast<int>(first),
              .line_axes = static_cast<int>(end - first),
              .coordinates = {}};
  lines.coordinates.assign(index_names, index_names + shape.size());
  return lines;
}

LineShape shape_of(const Lines& lines, const HipProblem& problem) {
  const Node& node = *problem.node;
  auto usual = [&](const Expr& size) { return usual_size(*problem.graph, size).value_or(1); };
  return {.kind = lines.kind,
          .outer_axes = lines.outer_axes,
          .line_axes = lines.line_axes,
          .outer = usual(lines.outer()),
          .columns = usual(lines.columns()),
          .inner = usual(lines.inner()),
          .columns_are_known = lines.columns().constant().has_value(),
          .is_contiguous = lines.inner().is_constant(1),
          .is_blocked = lines.is_blocked,
          .group_lanes = lines.group_lanes,
          .element_size = std::max(element_size(node.inputs[0]->dtype), element_size(node.outputs[0]->dtype))};
}

PlannedLines plan_lines(const HipProblem& problem, Lines lines, const GpuMachine& gpu) {
  const LineShape shape = shape_of(lines, problem);
  return planned_by(choose_lines(shape, gpu), shape, std::move(lines), 0, gpu);
}

PlannedLines plan_chunks(const HipProblem& problem, Lines lines, int64_t common_lines, const GpuMachine& gpu) {
  const LineShape shape = shape_of(lines, problem);
  lines.group_lanes = 1;
  return planned_by(choose_chunks(shape, gpu), shape, std::move(lines), common_lines, gpu);
}

bool may_count(const PlannedLines& planned) {
  LineSizes known{};
  for (size_t axis = 0; axis < LineSizes::most_axes; ++axis)
    known.extents[axis] = axis < planned.lines.extents.size() ? planned.lines.extents[axis].constant().value_or(1) : 1;
  return planned.plan.fits(known);
}

std::optional<double> cost_of(const PlannedLines& planned, const Graph& graph) {
  const std::optional<LineSizes> sizes = usual_sizes(planned.lines, graph);
  if (!sizes) return std::nullopt;
  if (!planned.is_in_chunks())
    return estimate_lines(planned.plan, *sizes, planned.element_size, planned.gpu).microseconds;
  return estimate_chunks(planned.plan, *sizes, 0, planned.common_lines, planned.element_size, planned.gpu)
      .microseconds();
}

Epilogue scaled_epilogue(const Node& node, LoweringContext& context,
                         const std::function<std::vector<Expr>(const Operand&, const std::vector<Expr>&)>& place) {
  Epilogue epilogue = plain_epilogue(*node.outputs[0]);
  std::vector<Expr> indices;
  for (const Axis& axis : epilogue.axes) indices.emplace_back(axis.symbol);
  auto parameter = [&](size_t input) {
    const Value& value = *node.inputs[input];
    const Layout layout = Layout::row_major(value.shape->size());
    const Operand operand{context.buffer_as(value, layout, node.origin), value.dtype, *value.shape};
    return scalar::cast(DType::float32, operand(place(operand, indices)));
  };
  Scalar value = scalar::accumulator(DType::float32, 0) * parameter(1);
  if (NodeReader(node).has_input(2)) value = value + parameter(2);
  epilogue.value = scalar::cast(node.outputs[0]->dtype, value);
  return epilogue;
}

void emit_lines(const Node& node, PlannedLines planned, const Layout& layout, Epilogue epilogue,
                LoweringContext& context) {
  const Value &input = *node.inputs[0], &output = *node.outputs[0];
  KernelCall call;
  call.inputs = {context.buffer_as(input, layout, node.origin)};
  call.epilogue = std::move(epilogue);
  KernelOperands operands{{whole_operand(*input.shape, {layout})}, whole_operand(*output.shape, {layout})};
  if (planned.is_in_chunks()) {
    const Lines& lines = planned.lines;
    const LinePlan& plan = planned.plan;
    const Expr parts = min(ceil_div(lines.columns(), plan.capacity()), plan.most_parts()) + kernels::folded_parts;
    call.workspace = add_temporary(context.program(), input.name + ".partial",
                                   {lines.outer(), parts, kernels::partial_values, lines.inner()});
    call.spec = std::make_shared<LineChunkSpec>(std::move(planned), std::move(operands));
  } else {
    call.spec = std::make_shared<LineSpec>(std::move(planned), std::move(operands));
  }
  context.emit_kernel(std::move(call), output, layout, node.origin);
}

bool has_kernel_types(const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == nullptr || node.outputs.empty() || node.outputs[0] == nullptr)
    return false;
  return is_kernel_type(node.inputs[0]->dtype) && is_kernel_type(node.outputs[0]->dtype);
}

bool has_axes_for_lines(const Node& node) {
  const size_t rank = node.inputs[0]->shape->size();
  return rank > 0 && rank <= LineSizes::most_axes;
}

}  // namespace onnxc
