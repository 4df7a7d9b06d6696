#include <cmath>

#include "codegen/hip/memory_bound/line_call.h"
#include "ops/network/normalization_spec.h"

namespace onnxc {
namespace {

Lines last_axes_lines(const Node& node, const LayerNormalizationSpec& spec) {
  const LineKind kind = spec.subtracts_mean ? LineKind::moments : LineKind::mean_square;
  const Shape& shape = *node.inputs[0]->shape;
  Lines lines = row_major_lines(kind, shape, spec.first_axis, shape.size());
  lines.epsilon = spec.epsilon;
  return lines;
}

void lower_layer_normalization(const Node& node, const PlannedLines& planned, LoweringContext& context) {
  auto broadcast = [](const Operand& operand, const std::vector<Expr>& i) { return operand.broadcast_indices(i); };
  emit_lines(node, planned, Layout::row_major(node.inputs[0]->shape->size()), scaled_epilogue(node, context, broadcast),
             context);
}

}  // namespace

// LayerNormalization and RMSNormalization, unless their statistics are outputs as well.
void offer_layer_normalization(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_layer_normalization(node) || !has_kernel_types(node) || !has_axes_for_lines(node)) return;
  const NodeReader reader(node);
  if (reader.has_output(1) || reader.has_output(2)) return;
  const LayerNormalizationSpec spec = resolve_layer_normalization(reader);
  if (!std::isfinite(spec.epsilon)) return;
  const PlannedLines planned = plan_lines(problem, last_axes_lines(node, spec), gpu);
  if (!may_count(planned)) return;
  offers.push_back(
      {.kernel = planned.title(),
       .reads = LayoutDemand::rows,
       .gives = LayoutDemand::rows,
       .cost = cost_of(planned, *problem.graph),
       .lower = [&node, planned](LoweringContext& context) { lower_layer_normalization(node, planned, context); }});
}

}  // namespace onnxc
