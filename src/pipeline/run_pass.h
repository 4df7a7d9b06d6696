// One pass by itself, to repeat one that failed or to see what it does.
#pragma once

#include "pipeline/messages.h"
#include "pipeline/options.h"

namespace onnxc {

// Runs the pass that options.run_pass names and shows the result: a pass of programs on the text of one, as --dump-ir
// and --emit ir write it; a pass of graphs on an ONNX model, after its shapes are inferred.
void run_pass(const Options& options, const MessageSink& messages);

}  // namespace onnxc
