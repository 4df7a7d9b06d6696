// The scalar operation of each kind of reduction and of store, and what may be asked of scalars, for all code that
// computes, prints or evaluates loops.
#pragma once

#include <optional>

#include "ir/loops/loops.h"

namespace onnxc {

// The operation that folds an element into an accumulator. Nothing for argument reductions, which keep a position.
std::optional<ScalarOp> folding_op(ReduceKind kind);

// The operation that combines the stored value with the old one; not for a plain assignment.
ScalarOp combining_op(StoreKind kind);

// Whether stores of this kind into one element give the same in any order, by a machine's atomic operations of 32 or 64
// bits.
bool is_order_free(StoreKind kind, DType dtype);

// Whether the scalar reads the buffer; an empty one reads nothing.
bool loads_from(BufferId buffer, const Scalar& scalar);

}  // namespace onnxc
