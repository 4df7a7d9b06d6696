// Which of a model's programs for CPUs this CPU runs.
#pragma once

#include "base/error_text.h"
#include "base/model.h"

namespace onnxc::runtime {

// Finds the last program whose features this CPU has, or the one that the environment variable ONNXC_MARCH names. A
// model for only GPUs gives an empty program. Null if no program fits, with the reason in `error`.
const CpuProgram* choose_cpu_program(const ModelDescription& model, ErrorText& error);

}  // namespace onnxc::runtime
