// --profile=FILE.html: a profile as a page.
#pragma once

#include "onnxc_run/options.h"
#include "onnxc_run/profile/measured_profile.h"

namespace onnxc {

// The text of the page: time by module, by kernel and by step with each step's tensors, layers and source lines,
// working memory over the run, and what the model and the machine are.
std::string profile_page(const Profile& profile, Session& session, const RunOptions& options);

}  // namespace onnxc
