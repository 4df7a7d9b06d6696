// --profile=FILE.html: a profile as a page.
#pragma once

#include <optional>

#include "onnxc_run/options.h"
#include "onnxc_run/profile/compared_profile.h"

namespace onnxc {

// The text of the page: time by module, by kernel and by step with each step's tensors, layers and source lines, the
// steps under the machine's roofs, working memory over the run, and what the model and the machine are. With an earlier
// run, which steps' times changed.
std::string profile_page(const Profile& profile, Session& session, const RunOptions& options,
                         const std::optional<RecordedProfile>& earlier);

}  // namespace onnxc
