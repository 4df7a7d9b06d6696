// A scheduled loop nest as C++: a function that runs a range of its tasks, and one that runs them all.
#pragma once

#include "codegen/cpu/nests/nest_schedule.h"
#include "codegen/nests/nest_scope.h"

namespace onnxc {

// The function that runs a nest: "void FUNCTION(const Frame& frame, void* const* buffers)"; storage i is buffers[i].
std::string nest_signature(const std::string& function);

// Writes the function, and FUNCTION_tasks before it. The nest's storages are numbered (number_storages).
void print_nest(TextWriter& writer, const NestSchedule& schedule, const std::string& function, const ModelNames& names);

}  // namespace onnxc
