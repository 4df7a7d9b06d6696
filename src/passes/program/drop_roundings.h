// Removes the roundings of --precision from values that stay in registers.
//
// Before: a nest that added a bias was fused with one that took the maximum (b2 is bfloat16):
//   b2[i] = bfloat16(max(float32(bfloat16(float32(b0[i]) + b1[i])), 0))
// After:
//   b2[i] = bfloat16(max(float32(b0[i]) + b1[i], 0))
//
// Only what lies in memory is stored in 16 bits; --precision promises no rounding elsewhere. Limits: runs only with
// --precision, since a model of half types asks for each rounding that its operators make (but for scores:
// widen_scores.h).
#pragma once

#include "ir/program/program.h"

namespace onnxc {

void drop_roundings(Program& program);

}  // namespace onnxc
