// The destinations of the results of --volume.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "onnxc_run/options.h"

namespace onnxc {

struct ResultTargets {
  std::vector<std::filesystem::path> files;          // of each volume
  std::optional<std::filesystem::path> folder = {};  // that they all are in, if the user named one
};

// Reads only the words of the command line: no file is read or made. UsageError if --output names no place for them.
ResultTargets result_targets(const RunOptions& options);

}  // namespace onnxc
