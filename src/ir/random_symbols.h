// The arguments of random numbers besides their place: two symbols that the runtime gives their values, in programs
// that draw numbers (Program::draws). No size depends on them.
#pragma once

#include "ir/expr/expr.h"

namespace onnxc {

// A number of the run: each run of an instance has its own.
const Symbol& run_seed();
// How many rounds of loops have begun in the run, so that each round draws its own numbers.
const Symbol& run_pass();

}  // namespace onnxc
