#include "codegen/cpu/calls/normalization_kernel.h"

#include "codegen/cpu/calls/channel_moments.h"
#include "ops/normalization.h"
#include "ops/op.h"

namespace onnxc {

bool takes_normalization(const Node& node, int) {
  const bool is_one = node.op->name == "InstanceNormalization" || node.op->name == "GroupNormalization";
  return is_one && is_kernel_type(node.inputs[0]->dtype) && is_within_rank(*node.inputs[0]);
}

void lower_normalization(const Node& node, int lanes, LoweringContext& context) {
  const Expr groups = normalization_groups(NodeReader(node));
  const BufferId input = context.buffer(*node.inputs[0]);
  define_by_moments(node, groups, emit_moments({input, groups, lanes, node.origin}, context.program()), context);
}

}  // namespace onnxc
