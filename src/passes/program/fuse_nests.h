// Loop fusion: an elementwise or data-moving nest is computed where it is read.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: t[i, j] = exp(x[i, j]); y[i, j] = t[j, i] * w[j]. After: y[i, j] = exp(x[j, i]) * w[j], and t is gone.
//
// A nest is inlined into the nests that read it when it stores a whole temporary, each element once, without
// reductions; and when that repeats no work that costs: its one reader reads each element at most once, or it reads
// nothing itself (a constant), or it makes a large mask of small tensors. Rounding to the type of the temporary is
// kept, so that results do not change by a bit.
void fuse_nests(Program& program);

}  // namespace onnxc
