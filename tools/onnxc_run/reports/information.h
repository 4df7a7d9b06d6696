// The facts about a model.so: inputs, outputs, target, steps.
#pragma once

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// Prints it as text, or as JSON with the Open Inference Protocol's field names (name, platform, inputs and outputs with
// name, datatype, shape with -1 for a symbolic dim) and our own (dims with the symbols, target, steps, model).
void print_information(ModelLibrary& library, const RunOptions& options);

}  // namespace onnxc
