#include "codegen/nests/nest_operations.h"

namespace onnxc {
namespace {

// In one evaluation of a scalar.
int64_t floating_operations(const Scalar& scalar) {
  int64_t count = 0;
  if (!scalar) return 0;
  visit(scalar, [&](const ScalarNode& node) {
    const bool is_move = node.op == ScalarOp::select || node.op == ScalarOp::cast || node.op == ScalarOp::reinterpret ||
                         node.operands.empty();
    count += is_floating(node.dtype) && !is_move ? 1 : 0;
  });
  return count;
}

}  // namespace

Expr floating_operations(const LoopNest& nest) {
  Expr outer = 1, reduce = 1;
  for (const Axis& axis : nest.axes) (axis.kind == AxisKind::reduce ? reduce : outer) *= axis.extent;
  int64_t folded = 0, stored = 0;
  for (const Accumulator& accumulator : nest.accumulators)
    folded += floating_operations(accumulator.element) + (is_floating(accumulator.element.dtype()) ? 1 : 0);
  for (const Store& store : nest.stores) stored += floating_operations(store.value);
  return outer * reduce * folded + outer * stored;
}

}  // namespace onnxc
