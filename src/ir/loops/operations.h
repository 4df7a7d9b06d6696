// The operation behind each kind of reduction and of store, for all that computes, prints or evaluates loops.
#pragma once

#include <optional>

#include "ir/loops/loops.h"

namespace onnxc {

// What an accumulator and an element are folded by. Nothing for the position of an extremum (argument reductions).
std::optional<ScalarOp> folding_op(ReduceKind kind);

// What the stored value is combined with the old one by; not for a plain assignment.
ScalarOp combining_op(StoreKind kind);

}  // namespace onnxc
