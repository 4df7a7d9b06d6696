// The options of --volume.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "onnxc_run/volume/volume_options.h"

namespace onnxc {

// Adds them to the command line. The function that comes back is called once it is parsed, fills `options` from their
// texts, and throws a UsageError for one that cannot be.
[[nodiscard]] std::function<void()> add_volume_options(CLI::App& app, VolumeOptions& options);

}  // namespace onnxc
