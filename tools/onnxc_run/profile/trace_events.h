// --trace-events FILE.json: one run in the Trace Event Format, which ui.perfetto.dev and chrome://tracing show.
#pragma once

#include <string>

#include "onnxc_run/profile/measured_profile.h"

namespace onnxc {

// The last run of the profile: a complete event ("X") for each step, with its layers, module and source line, around
// consecutive steps of one module one for that, and a counter ("C") of working memory. Times are in microseconds.
std::string trace_events(const Profile& profile, const std::string& model);

}  // namespace onnxc
