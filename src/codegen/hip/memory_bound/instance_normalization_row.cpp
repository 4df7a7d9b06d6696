#include <cmath>

#include "codegen/call/kernel_call.h"
#include "codegen/hip/memory_bound/line_call.h"
#include "ops/network/normalization_spec.h"

namespace onnxc {
namespace {

using kernels::block_channels;

// Each channel's voxels in blocks of channels. The lanes of a group are put together if blocks have whole groups.
Lines blocked_lines(const Shape& shape, int64_t group_channels) {
  Lines lines{.kind = LineKind::moments,
              .extents = {shape[0], ceil_div(shape[1], block_channels)},
              .outer_axes = 2,
              .line_axes = static_cast<int>(shape.size() - 2),
              .channels = shape[1],
              .is_blocked = true,
              .group_lanes = block_channels % group_channels == 0 ? group_channels : 1,
              .coordinates = {}};
  lines.extents.insert(lines.extents.end(), shape.begin() + 2, shape.end());
  lines.extents.emplace_back(block_channels);
  lines.coordinates = {"n", fmt::format("(g * {} + {})", block_channels, index_names[lines.extents.size() - 1])};
  for (size_t i = 2; i < shape.size(); ++i) lines.coordinates.emplace_back(index_names[i]);
  return lines;
}

// Groups of channels, which lie next to each other.
Lines planar_lines(const Shape& shape, const Expr& groups, int64_t group_channels) {
  Shape extents = {shape[0], groups, floor_div(shape[1], groups)};
  extents.insert(extents.end(), shape.begin() + 2, shape.end());
  Lines lines = row_major_lines(LineKind::moments, extents, 2, extents.size());
  lines.coordinates[1] = fmt::format("(g * {} + c)", group_channels);
  lines.coordinates.erase(lines.coordinates.begin() + 2);
  return lines;
}

PlannedLines plan_instances(const HipProblem& problem, const InstanceNormalizationSpec& spec, bool is_blocked,
                            const GpuMachine& gpu) {
  const Shape& shape = *problem.node->inputs[0]->shape;
  const int64_t group_channels = spec.channels_per_group().constant().value();
  Lines lines = is_blocked ? blocked_lines(shape, group_channels) : planar_lines(shape, spec.groups, group_channels);
  lines.is_by_instance = true;
  lines.epsilon = spec.epsilon;
  const bool has_parts_of_groups = is_blocked && lines.group_lanes != group_channels;
  if (has_parts_of_groups || are_few_and_long(shape_of(lines, problem), gpu))
    return plan_chunks(problem, std::move(lines), is_blocked ? group_channels : 1, gpu);
  return plan_lines(problem, std::move(lines), gpu);
}

void lower_instance_normalization(const Node& node, const PlannedLines& planned, LoweringContext& context) {
  const size_t rank = node.inputs[0]->shape->size();
  const Layout layout =
      planned.lines.is_blocked ? Layout::channel_blocked(rank, block_channels) : Layout::row_major(rank);
  auto channel = [](const Operand&, const std::vector<Expr>& i) { return std::vector<Expr>{i[1]}; };
  emit_lines(node, planned, layout, scaled_epilogue(node, context, channel), context);
}

}  // namespace

// InstanceNormalization and GroupNormalization, from blocks and from rows.
void offer_instance_normalization(const HipProblem& problem, const GpuMachine& gpu, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_instance_normalization(node) || !has_kernel_types(node) || !is_within_rank(*node.inputs[0])) return;
  const InstanceNormalizationSpec spec = resolve_instance_normalization(NodeReader(node));
  if (spec.has_parameters_by_group || !std::isfinite(spec.epsilon)) return;
  if (spec.channels_per_group().constant().value_or(0) <= 0) return;
  for (const LayoutDemand layout : {LayoutDemand::rows, LayoutDemand::blocks}) {
    const PlannedLines planned = plan_instances(problem, spec, layout == LayoutDemand::blocks, gpu);
    if (!may_count(planned)) continue;
    offers.push_back({.kernel = planned.title(),
                      .reads = layout,
                      .gives = layout,
                      .cost = cost_of(planned, *problem.graph),
                      .plan = planned,
                      .lower = [&node, planned](LoweringContext& context) {
                        lower_instance_normalization(node, planned, context);
                      }});
  }
}

}  // namespace onnxc
