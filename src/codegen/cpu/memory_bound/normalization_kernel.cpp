// InstanceNormalization and GroupNormalization: kernels compute the statistics (channel_moments.h), the nests of the
// definition do the rest.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/memory_bound/channel_moments.h"
#include "ops/network/normalization_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

// Vector multiply-adds for each vector: the sums of the statistics, and what the nests compute of it.
constexpr double moments_cost = 5.0, applied_cost = 3.0;
// The vectors that are moved: by the statistics, and by the nests.
constexpr double moved_vectors = 3.0;

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
  for (const LayoutDemand layout : {LayoutDemand::blocks, LayoutDemand::rows}) {
    const int block_lanes = layout == LayoutDemand::blocks ? machine.lanes() : 1;
    const double vectors = problem.input.vectors(layout, machine.lanes());
    offers.push_back(
        {.kernel = "channel_moments",
         .reads = layout,
         .gives = layout,
         .cost = vectors * (moments_cost + applied_cost + moved_vectors * moved_vector_cost),
         .lower = [&node, block_lanes](LoweringContext& context) { lower_normalization(node, block_lanes, context); }});
  }
}

}  // namespace onnxc
