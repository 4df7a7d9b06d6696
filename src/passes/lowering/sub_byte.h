// Inputs and outputs whose elements are smaller than a byte (int4, uint4, int2, uint2, float4): the caller packs
// several into a byte, in the program each has a byte of its own. Nests go from one form to the other, and fuse like
// all others.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

// Adds the caller's bytes, and the step that writes `elements` from them. Returns the buffer of the bytes.
BufferId unpack_input(Program& program, BufferId elements);

// Adds the caller's bytes, and the step that writes them from `elements`: one byte at a time, since two threads must
// not write parts of one. Returns the buffer of the bytes.
BufferId pack_output(Program& program, BufferId elements);

}  // namespace onnxc
