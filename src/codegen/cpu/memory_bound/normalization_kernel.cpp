#include "codegen/cpu/memory_bound/normalization_kernel.h"

#include "codegen/cpu/memory_bound/channel_moments.h"
#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "ops/network/normalization_spec.h"
#include "ops/node_reader.h"

namespace onnxc {

bool takes_normalization(const Node& node, const CpuMachine&) {
  return is_instance_normalization(node) && is_kernel_type(node.inputs[0]->dtype) && is_within_rank(*node.inputs[0]);
}

bool takes_normalization_of_few_channels(const Node& node, const CpuMachine& machine) {
  if (!takes_normalization(node, machine)) return false;
  const std::optional<int64_t> channels = (*node.inputs[0]->shape)[1].constant();
  return channels && *channels <= kernels::most_planar_channels;
}

void lower_normalization(const Node& node, const CpuMachine& machine, LoweringContext& context) {
  const Expr groups = resolve_instance_normalization(NodeReader(node)).groups;
  const BufferId input = context.buffer(*node.inputs[0]);
  const int block_lanes = context.program().buffer(input).layout.is_row_major() ? 1 : machine.lanes();
  define_by_moments(node, groups, emit_moments({input, groups, block_lanes, node.origin}, context.program()), context);
}

}  // namespace onnxc
