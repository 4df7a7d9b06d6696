// Where the time of a run goes, step by step.
#pragma once

#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// Measures many runs with a clock around each step and prints, a step a line: its time, its share, GFLOP/s where the
// operations are known, their share of the measured peak of multiply-adds, its kernel and its nodes; then the same by
// kind of step; or a JSON object.
//
// Times are means over the faster half of the runs, so that the steps add up to the run and what disturbs a run now and
// then is left out. On gfx942sim a run is counted instead (simulated_profile.h).
void profile(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
