// States of float32 that only ever hold values of 16 bits are stored in 16 bits.
//
//   state b1 float32 "cache"                        state b1 bfloat16 "cache"
//   nest  b2[i] = bfloat16(b1[i])                   nest  b2[i] = b1[i]
//   nest  b3[i] = float32(b2[i + 2])   b3 = b1      nest  b3[i] = b2[i + 2]   b3 = b1
//
// Problem: --precision keeps float32 for inputs and outputs, and a state was both. Its memory and the time of its
// copies are twice what its values need. Method: if each load is rounded to one 16-bit type, or only moved within the
// state, and each store was of that type, no value changes. Programs that share a state must all allow it: those of a
// file's graphs, CPUs and cards.
//
// Limits: loops read and write the state; a kernel that takes it as an operand reads float32. A state that one program
// copies at its end stays float32.
#pragma once

#include <vector>

#include "ir/program/program.h"

namespace onnxc {

void narrow_states(const std::vector<Program*>& programs);

}  // namespace onnxc
