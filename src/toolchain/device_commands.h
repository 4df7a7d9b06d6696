// From device source to a code object, with clang and AMD's device libraries: neither ROCm nor a GPU is needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/compiler.h"

namespace onnxc {

// AMD's device libraries that kernels link, in the order that clang wants, without ".bc".
std::vector<std::string> device_library_names(const std::string& architecture);
// The options that link them. UserError when they are missing, saying what to install.
std::vector<std::string> device_libraries(const std::string& architecture);

// The command that compiles `source` for a GPU into the code object `output`.
std::vector<std::string> device_compile_command(const Compiler& compiler, const std::string& architecture,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<std::filesystem::path>& include_folders,
                                                const std::string& source, const std::string& output);

// How a person builds the code object from what write_source wrote: lines for the head of the device source.
std::vector<std::string> device_build_lines(const std::string& architecture);

}  // namespace onnxc
