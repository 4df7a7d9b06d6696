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
  Program& program = context.program();
  DefineContext define(node, program, [&](const Value& value) { return context.buffer(value); });
  const Expr groups = normalization_groups(define);
  const BufferId id = emit_moments({context.buffer(*node.inputs[0]), groups, lanes, node.origin}, program);
  const Operand moments{id, DType::float32, program.buffer(id).shape};
  define_normalized_by_instance(define, [&](const std::vector<Expr>& place) -> InstanceStatistics {
    const Expr group = floor_div(place[1], floor_div(define.shape(0)[1], groups));
    auto value = [&](int64_t which) { return moments({which, place[0], group}); };
    return {value(0), value(1), value(2)};
  });
}

}  // namespace onnxc
