// Fuses the nest that follows a kernel template into the template, as its epilogue.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

struct Target;

// Before: t = conv(x); y[i] = max(t[i] + r[i], 0). After: y = conv(x) with the epilogue max(acc + r[i], 0), applied in
// registers, and t is gone.
//
// The nest must be the only reader of the template's output, cover it element by element, and read only what the
// target's epilogues can read. That is the same element of a tensor of the same layout, one value per channel, a
// scalar.
void fuse_epilogues(Program& program, const Target& target);

}  // namespace onnxc
