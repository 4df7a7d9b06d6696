#include "ir/program/pointwise.h"

namespace onnxc {

bool is_pointwise_on(const Program& program, const LoopNest& nest, BufferId input) {
  if (nest.stores.size() != 1 || !nest.accumulators.empty() || !nest.lets.empty()) return false;
  const Store& store = nest.stores.front();
  const Buffer& output = program.buffer(store.buffer);
  const Shape& shape = program.buffer(input).shape;
  if (store.kind != StoreKind::assign || store.condition || output.shape.size() != shape.size()) return false;
  if (nest.axes.size() != shape.size()) return false;
  std::vector<Expr> identity;
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    const Axis& axis = nest.axes[i];
    if (axis.kind != AxisKind::parallel || !(store.indices[i] == Expr(axis.symbol))) return false;
    if (!proven_equal(output.shape[i], shape[i]) || !proven_equal(axis.extent, shape[i])) return false;
    identity.push_back(axis.symbol);
  }
  bool pointwise = true;
  visit(store.value, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::load && node.buffer == input) pointwise = pointwise && node.indices == identity;
  });
  return pointwise;
}

}  // namespace onnxc
