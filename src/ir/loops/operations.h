// The scalar operation of each kind of reduction and of store, for all code that computes, prints or evaluates loops.
#pragma once

#include <optional>

#include "ir/loops/loops.h"

namespace onnxc {

// The operation that folds an element into an accumulator. Nothing for argument reductions, which keep a position.
std::optional<ScalarOp> folding_op(ReduceKind kind);

// The operation that combines the stored value with the old one; not for a plain assignment.
ScalarOp combining_op(StoreKind kind);

}  // namespace onnxc
