// onnxc --list-operators.
#pragma once

#include "pipeline/messages.h"

namespace onnxc {

// Prints a line for each operator, or all of them as JSON.
void print_operators(bool as_json, const MessageSink& messages);

}  // namespace onnxc
