// States: an output becomes the memory of an input, which the next run reads.
//
//   inputs b0 "x", b1 "cache"                    inputs b0 "x"
//   outputs b4 "y", b3 "next"                    outputs b4 "y"
//   nest  b2 = b1 and b0                         state b1 "cache"
//   kernel b4 = b2                               nest  b2 = b1 and b0
//   nest  b3 = the end of b2                     kernel b4 = b2
//                                                nest  b3 = the end of b2, b3 being an alias of b1
//
// If each step that reads the input stands before all that write the output, or is the step that writes it and may do
// so in place, the output becomes an alias. Else it keeps memory of its own, and a copy brings it to the state as soon
// as both are through with: at best after the last read of the input. A program with only one of the pair writes the
// state of another program, or reads it.
//
// Limits: steps are not moved, so that an output that is written early is copied. It runs last: passes after it would
// not know that the order of steps counts.
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"

namespace onnxc {

struct StateNames {
  std::string input, output;
};

void bind_states(Program& program, const std::vector<StateNames>& states);

}  // namespace onnxc
