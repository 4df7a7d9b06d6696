#include "toolchain/device_commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "machine/gpu_machines.h"
#include "support/diagnostics.h"
#include "support/text.h"
#include "toolchain/build_commands.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

// The folder of Debian's rocm-device-libs.
constexpr const char* debian_folder = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// ROCm's clang beside its libraries, which are newer than clang 19 may read.
Compiler clang_of_rocm(const fs::path& rocm, const Compiler& otherwise) {
  for (const char* place : {"llvm/bin/clang++", "lib/llvm/bin/clang++"})
    if (fs::exists(rocm / place)) return {.command = {(rocm / place).string()}, .linker = "lld"};
  return otherwise;
}

const machine::GpuMachine& row_of(const std::string& architecture) {
  const machine::GpuMachine* const found = machine::find_gpu(architecture);
  internal_check(found != nullptr, "a GPU that the command line knows");
  return *found;
}

// The switches that OCML reads: no denormal is flushed, NaN and infinity count, square roots are exact. Releases of
// ROCm after 7.2 have dropped some, and what they switched.
std::array<std::string, 5> switches(const std::string& architecture) {
  const bool is_wide = row_of(architecture).wave_lanes == 64;
  return {"oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_correctly_rounded_sqrt_on",
          is_wide ? "oclc_wavefrontsize64_on" : "oclc_wavefrontsize64_off"};
}

// Which instructions the library may take for granted. A release that does not know the GPU may know its family or its
// predecessor.
std::array<std::string, 3> isa_versions(const std::string& architecture) {
  const machine::GpuMachine& gpu = row_of(architecture);
  const std::string stem = "oclc_isa_version_";
  return {stem + architecture.substr(3), stem + gpu.family_isa, stem + gpu.older_isa};
}

}  // namespace

std::vector<std::string> device_library_names(const std::string& architecture) {
  std::vector<std::string> names{"ocml"};
  std::ranges::copy(switches(architecture), std::back_inserter(names));
  names.push_back(isa_versions(architecture).front());
  return names;
}

DeviceToolchain find_device_toolchain(const Compiler& compiler) {
  const std::string chosen = variable("ONNXC_DEVICE_LIBRARIES"), rocm_path = variable("ROCM_PATH");
  const fs::path rocm = rocm_path.empty() ? "/opt/rocm" : rocm_path;
  user_check(rocm_path.empty() || fs::is_directory(rocm), "ROCM_PATH is {}, and there is no such folder",
             quote(rocm_path));
  if (!chosen.empty()) {
    user_check(fs::exists(fs::path(chosen) / "ocml.bc"), "ONNXC_DEVICE_LIBRARIES is {}, and ocml.bc is not in it",
               quote(chosen));
    return {chosen, compiler};
  }
  if (rocm_path.empty() && fs::exists(fs::path(debian_folder) / "ocml.bc")) return {debian_folder, compiler};
  for (const char* place : {"amdgcn/bitcode", "lib/llvm/amdgcn/bitcode"})
    if (fs::exists(rocm / place / "ocml.bc")) return {rocm / place, clang_of_rocm(rocm, compiler)};
  if (fs::exists(fs::path(debian_folder) / "ocml.bc")) return {debian_folder, compiler};
  user_error(
      "the math library for GPUs (ocml.bc) is neither in {} nor in {}/amdgcn/bitcode: apt-get install "
      "rocm-device-libs, or "
      "set ROCM_PATH to the folder of ROCm",
      debian_folder, rocm.string());
}

void check_compiles_hip(const Compiler& compiler) {
  if (!compiler.is_zig()) return;
  bool has_rocm = false;
  try {
    has_rocm = !find_device_toolchain(compiler).compiler.is_zig();
  } catch (const UserError&) {  // what else is missing is said when it is needed
  }
  user_check(
      has_rocm,
      "the C++ compiler {} does not compile HIP, which a GPU's code is: leave out --glibc and --compiler zig, and "
      "take clang 19 or newer: {}",
      quote(compiler.command.front()), usable_compilers(true));
}

std::vector<std::string> device_libraries(const DeviceToolchain& toolchain, const std::string& architecture) {
  std::vector<std::string> options;
  const auto link = [&](const std::string& name) {
    const fs::path file = toolchain.libraries / (name + ".bc");
    if (!fs::exists(file)) return false;
    options.insert(options.end(), {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", file.string()});
    return true;
  };
  link("ocml");
  std::ranges::for_each(switches(architecture), link);
  const std::array<std::string, 3> versions = isa_versions(architecture);
  user_check(std::ranges::any_of(versions, link), "the math library for GPUs in {} knows no {}: {}.bc is not there",
             quote(toolchain.libraries.string()), architecture, fmt::join(versions, ".bc, "));
  return options;
}

std::vector<std::string> device_compile_command(const Compiler& compiler, const std::string& architecture,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<fs::path>& include_folders, const std::string& source,
                                                const std::string& output) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(),
                 {"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "--offload-arch=" + architecture,
                  // The row of machine/gpu_machine.h that the kernels read.
                  "-DONNXC_GPU=" + architecture, "-nogpuinc", "-nogpulib", "-fuse-ld=" + compiler.linker});
  for (const char* argument : {"-std=c++20", "-O3", "-ffp-contract=on", "-fno-exceptions", "-fno-rtti", "-fno-ident",
                               // No symbol that is a hash of the source's path.
                               "-fuse-cuid=none", "-Wno-everything", "-Werror=pass-failed"})
    command.emplace_back(argument);
  command.insert(command.end(), libraries.begin(), libraries.end());
  for (const fs::path& folder : include_folders) command.push_back("-I" + folder.string());
  command.insert(command.end(), {source, "-o", output});
  return command;
}

std::vector<std::string> device_build_lines(const std::string& architecture, const std::string& source,
                                            const std::string& code) {
  const std::vector<std::string> command =
      device_compile_command(Compiler(), architecture, {"$LIBRARIES"}, installed_parts("$PREFIX").include_folders,
                             "$SOURCE" + source, "$SOURCE" + code);
  return {"To build its code object, SOURCE being the host file's name, PREFIX the folder that onnxc is installed",
          "under and LIBRARIES the options -Xclang -mlink-builtin-bitcode -Xclang FILE for AMD's device libraries",
          fmt::format("{}:", fmt::join(device_library_names(architecture), ", ")),
          fmt::format("  {}", fmt::join(command, " "))};
}

}  // namespace onnxc
