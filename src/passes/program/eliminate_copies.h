// Removes nests that only copy one buffer to another.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: v[i] = t[i] with t a temporary and v an output or a part of a Concat. After: t is a view of v, and its
// producer writes v. Before: y[i] = x[i] with y a temporary. After: y is a view of x. (A Reshape is such a copy, from
// an alias of its input.)
//
// Both buffers must have one layout, and only the copy may write y, since x and y are the same memory afterwards.
void eliminate_copies(Program& program);

}  // namespace onnxc
