// States: an output becomes the memory of an input, which the next run reads.
//
//   inputs b0 "x", b1 "cache"                    inputs b0 "x"
//   outputs b4 "y", b3 "next"                    outputs b4 "y"
//   nest  b2 = b1 and b0                         state b1 "cache"
//   kernel b4 = b2                               nest  b2 = b1 and b0
//   nest  b3 = the end of b2                     kernel b4 = b2
//                                                nest  b3 = the end of b2, b3 being an alias of b1
//
// If each step that reads the input stands before all that write the output, or is the one step that writes it and may
// do so in place, the output becomes an alias. Steps that write it early are moved after the last that reads the
// input, if they compute the same there. Else the output keeps memory of its own, and a copy follows the last use of
// both. A program with only one of the pair writes the state of another program, or reads it.
//
// Limits: a step that reads the state at other places than it writes is copied, unless no place is among both; so are
// steps of a loop. It runs last: passes after it would not know that the order of steps counts.
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
