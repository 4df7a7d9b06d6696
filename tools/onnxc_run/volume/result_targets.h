// Where the results of --volume go.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "onnxc_run/options.h"

namespace onnxc {

struct ResultTargets {
  std::vector<std::filesystem::path> files;          // of each volume
  std::optional<std::filesystem::path> folder = {};  // that they all are in, where the user named one
};

// By the words of the command line alone: nothing is read or made. UsageError where --output names no place for them.
ResultTargets result_targets(const RunOptions& options);

}  // namespace onnxc
