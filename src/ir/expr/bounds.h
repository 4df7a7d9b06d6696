// Interval arithmetic on Bounds that saturates: a bound that does not fit in 64 bits becomes "not known".
#pragma once

#include "ir/expr/expr.h"

namespace onnxc {

Bounds add(const Bounds& a, const Bounds& b);
Bounds multiply(const Bounds& a, const Bounds& b);
// The bounds of a//b and a%b for all b but 0.
Bounds floor_divide(const Bounds& a, const Bounds& b);
Bounds floor_modulo(const Bounds& a, const Bounds& b);

}  // namespace onnxc
