// Sorting the lines of a tensor along an axis of known extent.
#pragma once

#include <functional>

#include "ops/define_context.h"

namespace onnxc {

// Whether a stands before b in the order; neither before the other if they are equal.
using Precedes = std::function<Scalar(const Scalar& a, const Scalar& b)>;

// a before b in ascending order, false before true, NaN last; strings in the order of their bytes.
Scalar ascending(const Scalar& a, const Scalar& b);

// Whether a comes before b in an order that keeps equal elements in place; `stands_earlier`: whether a stands before b.
Scalar comes_before(const Precedes& precedes, const Scalar& a, const Scalar& b, const Scalar& stands_earlier);

// The lines of x in order, and the former place of each element; of x's shape. Equal elements keep their order.
struct SortedLines {
  Operand values;
  Operand positions;  // int64, along the axis
};

// Method: merge sort by places. In chunks of 256 an element's place is the number of those that stand before it. After
// that an element's place among two runs is its own and how many of the other run stand before it, which a binary
// search finds. All elements move at once, one nest a level: n log^2 n, and no loop over a line.
SortedLines sort_lines(DefineContext& c, const Operand& x, size_t axis, const Precedes& precedes);

}  // namespace onnxc
