// From device source to a code object, with clang and AMD's device libraries: neither ROCm nor a GPU is needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onnxc {

// The command that compiles `source` for a GPU into the code object `output`. UserError when the device libraries are
// not there, saying what to install.
std::vector<std::string> device_compile_command(const std::string& compiler, const std::string& architecture,
                                                const std::vector<std::filesystem::path>& include_folders,
                                                const std::filesystem::path& source,
                                                const std::filesystem::path& output);

}  // namespace onnxc
