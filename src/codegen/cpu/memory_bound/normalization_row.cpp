// InstanceNormalization and GroupNormalization: kernels compute the statistics (channel_moments.h), the nests of the
// definition do the rest.
#include <cmath>

#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/memory_bound/channel_moments.h"
#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "ops/network/normalization_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

// Vector multiply-adds for each vector: the sums of the statistics, and what the nests compute of it.
constexpr double moments_cost = 5.0, applied_cost = 3.0;
// The vectors that are moved: by the statistics, and by the nests.
constexpr double moved_vectors = 3.0;
// Vector multiply-adds for each channel block, in rows for each channel: a task is one, or a part of it.
constexpr double task_cost = 550.0;

// `block_lanes`: 1 in rows.
void lower_normalization(const Node& node, int block_lanes, LoweringContext& context) {
  const Expr groups = resolve_instance_normalization(NodeReader(node)).groups;
  const size_t rank = node.inputs[0]->shape->size();
  const Layout layout = block_lanes == 1 ? Layout::row_major(rank) : Layout::channel_blocked(rank, block_lanes);
  const BufferId input = context.buffer_as(*node.inputs[0], layout, node.origin);
  define_by_moments(node, groups, emit_moments({input, groups, block_lanes, node.origin}, context.program()), context);
}

}  // namespace

void offer_normalization(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_instance_normalization(node) || !is_kernel_type(node.inputs[0]->dtype) || !is_within_rank(*node.inputs[0]))
    return;
  // Blocks of few channels would be mostly padding: rows are as good.
  const bool has_many_channels = problem.input.channels > kernels::most_planar_channels;
  for (const LayoutDemand layout : {LayoutDemand::blocks, LayoutDemand::rows}) {
    const int block_lanes = layout == LayoutDemand::blocks ? machine.lanes() : 1;
    const double vectors = problem.input.vectors(layout, machine.lanes());
    const double tasks = std::ceil(problem.input.channels / block_lanes);
    offers.push_back(
        {.kernel = "channel_moments",
         .reads = layout,
         .gives = layout,
         .cost = vectors * (moments_cost + applied_cost + moved_vectors * moved_vector_cost) + tasks * task_cost,
         .declined = block_lanes == 1 && has_many_channels ? "many channels in rows are not measured" : "",
         .lower = [&node, block_lanes](LoweringContext& context) { lower_normalization(node, block_lanes, context); }});
  }
}

}  // namespace onnxc
