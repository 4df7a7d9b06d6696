#include "codegen/hip/toolchain.h"

#include <array>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

// Where Debian's rocm-device-libs and ROCm itself put them.
constexpr std::array device_library_folders = {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode"};

fs::path device_libraries() {
  for (const char* folder : device_library_folders)
    if (fs::exists(fs::path(folder) / "ocml.bc")) return folder;
  user_error("the math library for GPUs (ocml.bc) is in none of {}, {}: apt-get install rocm-device-libs",
             device_library_folders[0], device_library_folders[1]);
}

// OCML, and the switches that it reads: no denormal is flushed, NaN and infinity count, square roots are exact.
std::vector<fs::path> bitcode(const std::string& architecture) {
  const fs::path folder = device_libraries();
  std::vector<fs::path> files;
  for (const char* name : {"ocml", "oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off",
                           "oclc_correctly_rounded_sqrt_on", "oclc_wavefrontsize64_on"})
    files.push_back(folder / (std::string(name) + ".bc"));
  // Which instructions OCML may take for granted; releases older than gfx942 know its predecessor, which lacks none.
  const fs::path own = folder / ("oclc_isa_version_" + architecture.substr(3) + ".bc");
  files.push_back(fs::exists(own) ? own : folder / "oclc_isa_version_90a.bc");
  return files;
}

}  // namespace

std::vector<std::string> device_compile_command(const std::string& compiler, const std::string& architecture,
                                                const std::vector<fs::path>& include_folders, const fs::path& source,
                                                const fs::path& output) {
  std::vector<std::string> command{compiler,
                                   "-x",
                                   "hip",
                                   "--cuda-device-only",
                                   "--no-gpu-bundle-output",
                                   "--offload-arch=" + architecture,
                                   "-nogpuinc",
                                   "-nogpulib",
                                   "-fuse-ld=lld-19"};
  for (const char* argument : {"-std=c++20", "-O3", "-ffp-contract=on", "-fno-exceptions", "-fno-rtti", "-fno-ident",
                               "-Wno-everything", "-Werror=pass-failed"})
    command.emplace_back(argument);
  for (const fs::path& file : bitcode(architecture))
    for (const std::string& argument :
         {std::string("-Xclang"), std::string("-mlink-builtin-bitcode"), std::string("-Xclang"), file.string()})
      command.push_back(argument);
  for (const fs::path& folder : include_folders) command.push_back("-I" + folder.string());
  command.insert(command.end(), {source.string(), "-o", output.string()});
  return command;
}

}  // namespace onnxc
