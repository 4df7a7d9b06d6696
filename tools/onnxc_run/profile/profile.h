// The measured run that --profile and --trace-events show.
#pragma once

#include <vector>

#include "onnxc_run/options.h"
#include "onnxc_run/session.h"

namespace onnxc {

// Measures a profile (measured_profile.h) and prints, a step a line: its time, its share, GFLOP/s if the operations are
// known, their share of the measured peak of multiply-adds, its kernel, its nodes and their sources; then the same by
// module and by kind of step; or a JSON object. Or writes a page (profile_page.h) or events (trace_events.h). On
// gfx942sim a run is counted instead (simulated_profile.h).
void profile(Session& session, const std::vector<Tensor>& inputs, const RunOptions& options);

}  // namespace onnxc
