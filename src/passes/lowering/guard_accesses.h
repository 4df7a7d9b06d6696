// Puts tests around accesses that the verifier's law of bounds (ir/program/bounds_law.h) cannot prove to be within
// their buffers: at places that only a run knows, or with free dims.
//
// Before:
//   nest places  axes i<N
//     let j0 = b1[i]
//     b2[j0] = b0[i]
// After, with b2 of M elements:
//     b2[j0] = b0[i] if 0 <= index(j0) && index(j0) < index(M)
//
// A load that is outside gives 0. The tests cost time in each iteration: a rule does better to clamp its indices or to
// add a guard on its sizes.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

void guard_accesses(Program& program);

}  // namespace onnxc
