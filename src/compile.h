// The way of a model through the compiler.
#pragma once

#include "options.h"

namespace onnxc {

// Compiles as the options say. Throws UserError, UsageError or InternalError by whose fault it is; no output file is
// left behind then.
void compile(const Options& options);

}  // namespace onnxc
