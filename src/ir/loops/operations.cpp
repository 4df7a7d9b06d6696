#include "ir/loops/operations.h"

#include "support/diagnostics.h"

namespace onnxc {

std::optional<ScalarOp> folding_op(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
      return ScalarOp::add;
    case ReduceKind::product:
      return ScalarOp::multiply;
    case ReduceKind::minimum:
      return ScalarOp::minimum;
    case ReduceKind::maximum:
      return ScalarOp::maximum;
    case ReduceKind::any:
      return ScalarOp::logical_or;
    case ReduceKind::all:
      return ScalarOp::logical_and;
    default:
      return std::nullopt;
  }
}

ScalarOp combining_op(StoreKind kind) {
  switch (kind) {
    case StoreKind::add:
      return ScalarOp::add;
    case StoreKind::multiply:
      return ScalarOp::multiply;
    case StoreKind::minimum:
      return ScalarOp::minimum;
    case StoreKind::maximum:
      return ScalarOp::maximum;
    case StoreKind::assign:
      break;
  }
  internal_error("a store that combines");
}

bool is_order_free(StoreKind kind, DType dtype) {
  if (kind == StoreKind::assign || element_size(dtype) < 4) return false;
  return !is_floating(dtype) || kind == StoreKind::minimum || kind == StoreKind::maximum;
}

bool loads_from(BufferId buffer, const Scalar& scalar) {
  bool result = false;
  auto look = [&](const ScalarNode& node) { result |= node.op == ScalarOp::load && node.buffer == buffer; };
  if (scalar) visit(scalar, look);
  return result;
}

}  // namespace onnxc
