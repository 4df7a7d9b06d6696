// The reduction of a scheduled nest as C++, in each of its forms.
#pragma once

#include "codegen/cpu/nests/nest_schedule.h"
#include "codegen/nests/nest_scope.h"

namespace onnxc {

// Written before a loop whose iterations are independent: the compiler vectorises it without alias checks, and does not
// unroll it instead when it is short.
std::string vectorised_loop(const NestSchedule& schedule);

// Writes the accumulators and the loops that fold into them, then calls `print_stores` once their values are ready.
void print_reduction(TextWriter& writer, NestScope& scope, const NestSchedule& schedule,
                     const std::function<void()>& print_stores);

}  // namespace onnxc
