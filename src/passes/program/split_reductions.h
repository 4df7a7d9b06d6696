// Long reductions with few results, in two nests: for targets that keep more threads busy than there are results.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before: m[n, c] = sum over d, h, w of x[n, c, d, h, w]. After: p[d, n, c] = sum over h, w of x[n, c, d, h, w] and
// m[n, c] = sum over d of p[d, n, c].
//
// As many of the outer reduce axes become parallel as leave enough to reduce. Sums become sums of sums, which lose
// fewer digits than one chain. Not for accumulators of half types, nor where the order of the elements counts.
void split_reductions(Program& program);

}  // namespace onnxc
