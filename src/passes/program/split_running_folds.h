// Splits a long running sum or product into chunks, for targets with more threads than such loops.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Before:
//
//   nest CumSum  ordered i<N
//     y[i] = (i == 0 ? 0 : y[i - 1]) + x[i]
//
// After, with the sums of the chunks, of all chunks up to each, and each chunk continuing those before it:
//
//   nest CumSum_parts  axes c<ceil(N/1024)  reduce e<1024
//     acc0 = sum 1024*c + e < N ? x[1024*c + e] : 0
//     p[c] = acc0
//   nest CumSum_starts  ordered c<ceil(N/1024)
//     s[c] = (c == 0 ? 0 : s[c - 1]) + p[c]
//   nest CumSum  axes c<ceil(N/1024)  ordered e<1024
//     y[1024*c + e] = (e == 0 ? (c == 0 ? 0 : s[c - 1]) : y[1024*c + e - 1]) + x[1024*c + e] where 1024*c + e < N
//
// The starts, if they are still many, are split in the same way. Loops of fewer than 4096 iterations, and those of half
// types, are left alone.
void split_running_folds(Program& program);

}  // namespace onnxc
