// The profile of a GPU model on gfx942sim: its counts and its modelled time, step by step.
#pragma once

#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// Whether the HIP library that this process has opened is the simulator's.
bool runs_on_simulator();

// Runs the model once and prints for each step what its kernels did, what time the simulator's model gives them on an
// MI300X and what bounds it; or a JSON object with every launch.
void profile_simulated(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
