// Tests whether this CPU has what a model was compiled for. Without the test a run would end with SIGILL.
#pragma once

namespace onnxc::runtime {

// Whether the CPU has, and the system saves the registers of, the feature that clang calls `name` ("avx2"). An unknown
// name counts as missing. Asks the system to permit matrix tiles if the name is about them ("amx-tile").
bool cpu_has(const char* name);

// Writes the CPU's own name, into at least 49 bytes; "" when the CPU does not tell.
void cpu_name(char* name);

}  // namespace onnxc::runtime
