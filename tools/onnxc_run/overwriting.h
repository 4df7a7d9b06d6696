// No output of onnxc-run replaces one of its inputs.
#pragma once

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"
#include "support/safe_file.h"

namespace onnxc {

// UserError if an output is a file that the command reads, by only the words of the command line. Before any work.
// Gives the inputs that it knows of.
InputFiles check_outputs(const RunOptions& options);
// The same for what is known by the model's names: its inputs, and the tensors that go to a folder. Before a run.
void check_outputs(const RunOptions& options, const Session& session, InputFiles inputs);

}  // namespace onnxc
