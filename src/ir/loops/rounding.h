// Removes roundings to half types from scalar expressions.
#pragma once

#include "ir/loops/loops.h"

namespace onnxc {

// Before: half(float(half(a * b)) + c), each operator's result rounded to its type. After: a * b + c, all in float32:
// neither rounded on the way nor at the end.
Scalar without_rounding(const Scalar& scalar);

// The same only at the end: the rounding that a half type's store does itself.
Scalar before_rounding(const Scalar& stored);

}  // namespace onnxc
