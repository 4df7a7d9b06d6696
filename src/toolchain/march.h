// The CPUs that --march names: rows of cpu_machine.h, those that only clang knows, and this machine's.
#pragma once

#include <string>
#include <vector>

#include "machine/cpu_machine.h"
#include "toolchain/compiler.h"

namespace onnxc {

// Products of narrow types that a model may have.
struct NarrowProducts {
  bool bfloat16 = false, int8 = false;
};

// "native" becomes x86-64-v4 or x86-64-v3, whichever this machine has, so that the result does not depend on finer
// differences; of a model with narrow products the row of a processor whose instruction for them gains (znver4).
// UserError when this machine, or the one asked for, lacks AVX2, FMA or F16C, or when clang does not know the name.
CpuMachine resolve_march(const std::string& march, const CompilerRequest& request = {},
                         const NarrowProducts& products = {});
// With several names: first the CPU whose code runs on all the others, then by their number of features. UsageError if
// no CPU's code runs on all the others, or one is named twice.
std::vector<CpuMachine> resolve_marches(const std::vector<std::string>& marches, const CompilerRequest& request = {},
                                        const NarrowProducts& products = {});
// The same for a name that only clang knows, by clang's own macros.
CpuMachine ask_compiler(const std::string& march, const Compiler& compiler = {});

}  // namespace onnxc
