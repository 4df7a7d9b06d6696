// InstanceNormalization and GroupNormalization: kernels compute the statistics (channel_moments.h), the nests of the
// definition do the rest.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/memory_bound/channel_moments.h"
#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "ops/network/normalization_spec.h"
#include "ops/node_reader.h"

namespace onnxc {
namespace {

void lower_normalization(const Node& node, const machine::VectorUnit& vectors, LoweringContext& context) {
  const Expr groups = resolve_instance_normalization(NodeReader(node)).groups;
  const BufferId input = context.buffer(*node.inputs[0]);
  const int block_lanes = context.program().buffer(input).layout.is_row_major() ? 1 : vectors.lanes;
  define_by_moments(node, groups, emit_moments({input, groups, block_lanes, node.origin}, context.program()), context);
}

}  // namespace

void offer_normalization(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  const Node& node = *problem.node;
  if (!is_instance_normalization(node) || !is_kernel_type(node.inputs[0]->dtype) || !is_within_rank(*node.inputs[0]))
    return;
  // NCHWc blocks of few channels would be mostly padding: NCHW is as good.
  const std::optional<int64_t> channels = (*node.inputs[0]->shape)[1].constant();
  const bool takes_any_layout = channels && *channels <= kernels::most_planar_channels;
  offers.push_back({.kernel = "channel_moments",
                    .reads = takes_any_layout ? LayoutDemand::none : LayoutDemand::blocks,
                    .gives = takes_any_layout ? LayoutDemand::none : LayoutDemand::blocks,
                    .needs = takes_any_layout ? LayoutDemand::none : LayoutDemand::blocks,
                    .lower = [&node, vectors = machine.vectors](LoweringContext& context) {
                      lower_normalization(node, vectors, context);
                    }});
}

}  // namespace onnxc
