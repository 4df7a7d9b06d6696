// Splits a long reduction with few results into two nests, for targets with more threads than results.
#pragma once

#include "passes/lowering/target.h"

namespace onnxc {

// Before: m[n, c] = sum over d, h, w of x[n, c, d, h, w]. After: p[d, n, c] = sum over h, w of x[n, c, d, h, w] and
// m[n, c] = sum over d of p[d, n, c].
//
// As many outer reduce axes become parallel as leave enough to reduce. A sum becomes a sum of sums, which loses fewer
// digits than one chain. A single long axis is cut into chunks: before, i = argument_maximum over k < 128000 of x[k];
// after, p[c] = argument_maximum over e < 1024 of x[1024*c + e], and i = argument_maximum over c of x[p[c]], with p[c]
// as positions. Accumulators of half types are left alone.
void split_reductions(Program& program, const Target& target);

}  // namespace onnxc
