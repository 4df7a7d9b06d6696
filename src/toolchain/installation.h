// The parts of onnxc that a build of a model uses.
#pragma once

#include <filesystem>
#include <vector>

namespace onnxc {

struct BuildParts {
  std::vector<std::filesystem::path> include_folders;
  std::filesystem::path runtime;  // the library
};

BuildParts installed_parts(const std::filesystem::path& prefix);
// Looked for beside this command once installed, before that in the source and build trees. UserError when missing.
BuildParts find_parts();

}  // namespace onnxc
