#include "toolchain/device_commands.h"

#include <fmt/ranges.h>

#include <array>

#include "support/diagnostics.h"
#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

// Where Debian's rocm-device-libs and ROCm itself put them.
constexpr std::array device_library_folders = {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode"};

fs::path device_library_folder() {
  for (const char* folder : device_library_folders)
    if (fs::exists(fs::path(folder) / "ocml.bc")) return folder;
  user_error("the math library for GPUs (ocml.bc) is in none of {}, {}: apt-get install rocm-device-libs",
             device_library_folders[0], device_library_folders[1]);
}

}  // namespace

// OCML, and the switches that it reads: no denormal is flushed, NaN and infinity count, square roots are exact; the
// last says which instructions it may take for granted.
std::vector<std::string> device_library_names(const std::string& architecture) {
  return {"ocml",
          "oclc_daz_opt_off",
          "oclc_unsafe_math_off",
          "oclc_finite_only_off",
          "oclc_correctly_rounded_sqrt_on",
          "oclc_wavefrontsize64_on",
          "oclc_isa_version_" + architecture.substr(3)};
}

std::vector<std::string> device_libraries(const std::string& architecture) {
  const fs::path folder = device_library_folder();
  std::vector<std::string> options;
  for (const std::string& name : device_library_names(architecture)) {
    fs::path file = folder / (name + ".bc");
    // Releases older than gfx942 know its predecessor, which lacks no instruction.
    if (name.starts_with("oclc_isa_version") && !fs::exists(file)) file = folder / "oclc_isa_version_90a.bc";
    options.insert(options.end(), {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", file.string()});
  }
  return options;
}

std::vector<std::string> device_compile_command(const Compiler& compiler, const std::string& architecture,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<fs::path>& include_folders, const std::string& source,
                                                const std::string& output) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(),
                 {"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "--offload-arch=" + architecture,
                  "-nogpuinc", "-nogpulib", "-fuse-ld=" + compiler.linker});
  for (const char* argument : {"-std=c++20", "-O3", "-ffp-contract=on", "-fno-exceptions", "-fno-rtti", "-fno-ident",
                               // No symbol that is a hash of the source's path.
                               "-fuse-cuid=none", "-Wno-everything", "-Werror=pass-failed"})
    command.emplace_back(argument);
  command.insert(command.end(), libraries.begin(), libraries.end());
  for (const fs::path& folder : include_folders) command.push_back("-I" + folder.string());
  command.insert(command.end(), {source, "-o", output});
  return command;
}

std::vector<std::string> device_build_lines(const std::string& architecture) {
  const std::vector<std::string> command =
      device_compile_command(Compiler(), architecture, {"$LIBRARIES"}, installed_parts("$PREFIX").include_folders,
                             "$SOURCE.device.hip", "$SOURCE.device.co");
  return {"To build its code object, SOURCE being the host file's name, PREFIX the folder that onnxc is installed",
          "under and LIBRARIES the options -Xclang -mlink-builtin-bitcode -Xclang FILE for AMD's device libraries",
          fmt::format("{}:", fmt::join(device_library_names(architecture), ", ")),
          fmt::format("  {}", fmt::join(command, " "))};
}

}  // namespace onnxc
