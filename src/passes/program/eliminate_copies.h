// Removes nests that only copy one buffer to another.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: v[i] = t[i] with t a temporary and v an output or a part of a Concat. After: t is a view of v, and its
// producer writes there. Before: y[i] = x[i] with y a temporary. After: y is a view of x. (Reshape is such a copy from
// an alias of its input.)
//
// Both must have one layout, and y must be written by nothing else, since it is the same memory afterwards.
void eliminate_copies(Program& program);

}  // namespace onnxc
