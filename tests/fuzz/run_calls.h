// Calls of a compiled model's C ABI as a careless host makes them: harness `run`.
#pragma once

#include <string_view>

namespace onnxc::fuzz {

// The bytes say what is given to a run of tests/runtime/fake_model: how many values, their kinds, types, devices, ranks
// and dims, the place of each and in how many bytes. Each rule of onnxc.h that a host can keep is kept: `dims` has
// `rank` entries, and `bytes` bytes lie at `data`. InternalError if a run succeeds with other outputs than the model's,
// or with outputs that overlap, and if a call gives no status of onnxc.h or a text that no terminal should see.
bool run_calls(std::string_view bytes);

}  // namespace onnxc::fuzz
