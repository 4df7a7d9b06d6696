// Where onnxc is, and the parts of it that a build of a model uses.
#pragma once

#include <filesystem>
#include <vector>

namespace onnxc {

struct BuildParts {
  std::vector<std::filesystem::path> include_folders;
  std::filesystem::path runtime;  // the library
};

// The folder above that of this command, or of the library that another program has loaded.
std::filesystem::path installation_prefix();

BuildParts installed_parts(const std::filesystem::path& prefix);
// Looked for beside this command once installed, before that in the source and build trees. UserError when missing.
BuildParts find_parts();

}  // namespace onnxc
