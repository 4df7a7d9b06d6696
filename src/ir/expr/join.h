// Rules that join terms of a sum, each true for all integers. Factors that the terms share are left out here:
//
//   b*(a//b) + a%b = a
//   a - a%b = b*(a//b)                     a size padded to a multiple, x - (x + 6)%7 + 6, is 7*((x + 6)//7)
//   a + a%2 = 2*((a + 1)//2)               as a%2 is 1 - (a + 1)%2
//   x - max(x - 7, 0) = min(x, 7)          and with min and max exchanged
//   min(x, 3) + max(x - 3, 0) = x          the parts of a size that is cut at 3
//
// A constant of `a` and `x` may differ in the sum.
#pragma once

#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// Applies one rule to a sum of sorted terms; false when there is none to apply. Afterwards terms are neither sorted nor
// combined.
bool join_terms(std::vector<Term>& terms);

}  // namespace onnxc
