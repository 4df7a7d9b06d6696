// Which of a model's programs for CPUs this CPU runs.
#pragma once

#include "base/error_text.h"
#include "base/model.h"

namespace onnxc::runtime {

// The last program whose features this CPU has, or of several the one that the environment variable ONNXC_MARCH
// names; an empty one of a model for GPUs only. Null if there is none, with the reason in `error`.
const CpuProgram* choose_cpu_program(ErrorText& error);

}  // namespace onnxc::runtime
