// Does this CPU have what a model was compiled for? Asked before a run, since the answer "no" is otherwise a SIGILL.
#pragma once

namespace onnxc::runtime {

// Whether the CPU has, and the system saves the registers of, the feature that clang calls `name` ("avx2"). An unknown
// name is a feature that is missing.
bool cpu_has(const char* name);

// The CPU's own name, at least 49 bytes; "" when it does not tell.
void cpu_name(char* name);

}  // namespace onnxc::runtime
