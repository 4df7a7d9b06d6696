#include "ir/loops/running_fold.h"

#include "ir/loops/operations.h"

namespace onnxc {
namespace {

bool is_first(const Scalar& condition, const Symbol& axis) {
  if (condition->op != ScalarOp::equal) return false;
  const Scalar &index = condition->operands[0], &zero = condition->operands[1];
  return index->op == ScalarOp::index && index->expr == Expr(axis) && zero->op == ScalarOp::constant &&
         zero->integer == 0;
}

bool is_element_before(const Scalar& scalar, const Symbol& axis, BufferId buffer, const std::vector<Expr>& indices) {
  if (scalar->op != ScalarOp::load || scalar->buffer != buffer || scalar->indices.size() != indices.size())
    return false;
  for (size_t i = 0; i < indices.size(); ++i)
    if (!(scalar->indices[i] == indices[i].substitute({{axis, Expr(axis) - 1}}))) return false;
  return true;
}

}  // namespace

std::optional<RunningFold> as_running_fold(const Symbol& axis, BufferId buffer, const std::vector<Expr>& indices,
                                           const Scalar& value) {
  if (value->op != ScalarOp::add && value->op != ScalarOp::multiply) return std::nullopt;
  const Scalar &before = value->operands[0], &element = value->operands[1];
  if (before->op != ScalarOp::select || !is_first(before->operands[0], axis)) return std::nullopt;
  const Scalar& start = before->operands[1];
  if (!is_element_before(before->operands[2], axis, buffer, indices)) return std::nullopt;
  if (loads_from(buffer, start) || loads_from(buffer, element)) return std::nullopt;
  return RunningFold{value->op, start, element};
}

Scalar neutral_element(ScalarOp op, DType dtype) { return scalar::constant(dtype, op == ScalarOp::add ? 0 : 1); }

}  // namespace onnxc
