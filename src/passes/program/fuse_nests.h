// Loop fusion: an elementwise or data-moving nest is computed inside the nests that read it.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: t[i, j] = exp(x[i, j]); y[i, j] = t[j, i] * w[j]. After: y[i, j] = exp(x[j, i]) * w[j], and t is gone.
//
// A nest is inlined into its readers when it stores a whole temporary, each element once, without reductions, and when
// inlining repeats no costly work. Then its one reader reads each element at most once, or it reads nothing (a
// constant), or it computes a large mask from small tensors. Values are still rounded to the temporary's type, so that
// no result changes by a bit.
void fuse_nests(Program& program);

}  // namespace onnxc
