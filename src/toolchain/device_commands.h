// From device source to a code object, with clang and AMD's device libraries: neither ROCm nor a GPU is needed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "toolchain/compiler.h"

namespace onnxc {

// AMD's device libraries that kernels link, in the order that clang wants, without ".bc". Releases have all of them, or
// some.
std::vector<std::string> device_library_names(const std::string& architecture);

struct DeviceToolchain {
  std::filesystem::path libraries;  // the folder of the device libraries
  Compiler compiler;                // the clang that reads them
};
// ONNXC_DEVICE_LIBRARIES names a folder, ROCM_PATH a ROCm; without them Debian's, then /opt/rocm. `compiler` is used if
// ROCm does not bring its own. UserError if there are no libraries, saying what to install.
DeviceToolchain find_device_toolchain(const Compiler& compiler);
// Called before any work: UserError if the compiler does not know HIP (zig) and ROCm does not bring its own, naming
// those that do.
void check_compiles_hip(const Compiler& compiler);
// The options that link what the release has. UserError if none fits the GPU.
std::vector<std::string> device_libraries(const DeviceToolchain& toolchain, const std::string& architecture);

// The command that compiles `source` for a GPU into the code object `output`.
std::vector<std::string> device_compile_command(const Compiler& compiler, const std::string& architecture,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<std::filesystem::path>& include_folders,
                                                const std::string& source, const std::string& output);

// How a person builds the code object from what write_source wrote: lines for the head of the device source. `source`,
// `code`: what follows the host file's name.
std::vector<std::string> device_build_lines(const std::string& architecture, const std::string& source,
                                            const std::string& code);

}  // namespace onnxc
