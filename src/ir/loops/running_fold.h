// Recognises the loops of running sums and products, which a parallel target computes as scans.
#pragma once

#include <optional>

#include "ir/loops/loops.h"

namespace onnxc {

// An ordered loop whose store is a fold of the elements so far:
//
//   y[..., i, ...] = op(i == 0 ? start : y[..., i - 1, ...], element)
struct RunningFold {
  ScalarOp op;     // add or multiply
  Scalar start;    // loads nothing of y
  Scalar element;  // loads nothing of y
};

// `indices` and `value` are those of the store into `buffer`; `axis` is the ordered loop.
std::optional<RunningFold> as_running_fold(const Symbol& axis, BufferId buffer, const std::vector<Expr>& indices,
                                           const Scalar& value);

// The operand that changes nothing when folded with: 0 for add, 1 for multiply.
Scalar neutral_element(ScalarOp op, DType dtype);

}  // namespace onnxc
