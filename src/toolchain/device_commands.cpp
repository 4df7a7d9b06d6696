#include "toolchain/device_commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "machine/gpu_machines.h"
#include "support/diagnostics.h"
#include "support/installation_prefix.h"
#include "support/text.h"
#include "toolchain/build_commands.h"
#include "toolchain/ptxas.h"

namespace onnxc {
namespace {

namespace fs = std::filesystem;

using machine::GpuMachine, machine::Vendor;

// The folder of Debian's rocm-device-libs.
constexpr const char* debian_folder = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

// libclc for CUDA's driver, and its folders in Debian and in other distributions.
constexpr const char* libclc = "nvptx64--nvidiacl";
constexpr std::array libclc_folders = {"/usr/lib/clc", "/usr/share/clc"};

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

// The switches that OCML reads: no denormal is flushed, NaN and infinity count, square roots are exact. Releases of
// ROCm after 7.2 have dropped some, and what they switched.
std::array<std::string, 5> switches(const GpuMachine& gpu) {
  const bool is_wide = gpu.wave_lanes == 64;
  return {"oclc_daz_opt_off", "oclc_unsafe_math_off", "oclc_finite_only_off", "oclc_correctly_rounded_sqrt_on",
          is_wide ? "oclc_wavefrontsize64_on" : "oclc_wavefrontsize64_off"};
}

// Which instructions the library may take for granted. A release that does not know the GPU may know its family or its
// predecessor.
std::array<std::string, 3> isa_versions(const GpuMachine& gpu) {
  const std::string stem = "oclc_isa_version_";
  return {stem + std::string(gpu.architecture).substr(3), stem + gpu.family_isa, stem + gpu.older_isa};
}

DeviceToolchain find_libclc(const Compiler& compiler) {
  const std::string name = std::string(libclc) + ".bc", chosen = variable("ONNXC_LIBCLC");
  if (!chosen.empty()) {
    user_check(fs::exists(fs::path(chosen) / name), "ONNXC_LIBCLC is {}, and {} is not in it", quote(chosen), name);
    return {chosen, compiler};
  }
  // A distribution's may be newer than the clang that reads it; the wheel's is that of the oldest.
  const fs::path own = installed_parts(installation_prefix()).runtime.parent_path();
  if (fs::exists(own / name)) return {own, compiler};
  for (const char* folder : libclc_folders)
    if (fs::exists(fs::path(folder) / name)) return {folder, compiler};
  user_error(
      "the math library for NVIDIA's GPUs ({}) is not in {}: apt-get install libclc-19, or set ONNXC_LIBCLC to the "
      "folder that has it",
      name, fmt::join(libclc_folders, " or "));
}

// Code for a family has the latest format only; clang's own choice is older.
std::vector<std::string> format_of_code(const GpuMachine& gpu) {
  if (!machine::is_family(gpu)) return {};
  return {"-mcode-object-version=6"};
}

// The options by which the compiler makes what a driver loads. PTX is of a version that CUDA's drivers know from 470
// on, for sm_90a from 525 on.
std::vector<std::string> language_options(const GpuMachine& gpu, const Compiler& compiler) {
  const std::string architecture = gpu.architecture;
  if (gpu.vendor == Vendor::nvidia)
    return {"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + architecture,
            architecture == "sm_90a" ? "--cuda-feature=+ptx80" : "--cuda-feature=+ptx71", "-nocudainc", "-nocudalib",
            "-S",
            // A call would keep a product's sums in memory.
            "-mllvm", "-inline-threshold=1000000"};
  std::vector<std::string> options{"-x",
                                   "hip",
                                   "--cuda-device-only",
                                   "--no-gpu-bundle-output",
                                   "--offload-arch=" + architecture,
                                   "-nogpuinc",
                                   "-nogpulib",
                                   "-fuse-ld=" + compiler.linker};
  std::ranges::copy(format_of_code(gpu), std::back_inserter(options));
  return options;
}

// The row's name in machine/amd_machines.h and nvidia_machines.h.
std::string name_in_kernels(const GpuMachine& gpu) {
  std::string name = gpu.architecture;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

std::vector<std::string> device_library_names(const GpuMachine& gpu) {
  if (gpu.vendor == Vendor::nvidia) return {libclc};
  std::vector<std::string> names{"ocml"};
  std::ranges::copy(switches(gpu), std::back_inserter(names));
  names.push_back(isa_versions(gpu).front());
  return names;
}

DeviceToolchain find_device_toolchain(const Compiler& compiler, Vendor vendor) {
  if (vendor == Vendor::nvidia) return find_libclc(compiler);
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
      "the math library for AMD's GPUs (ocml.bc) is neither in {} nor in {}/amdgcn/bitcode: apt-get install "
      "rocm-device-libs, or set ROCM_PATH to the folder of ROCm",
      debian_folder, rocm.string());
}

void check_compiles_for_gpus(const Compiler& compiler, std::span<const GpuMachine> gpus) {
  if (!compiler.is_zig()) return;
  bool has_rocm = false;
  try {
    has_rocm = std::ranges::none_of(
        gpus, [&](const GpuMachine& gpu) { return find_device_toolchain(compiler, gpu.vendor).compiler.is_zig(); });
  } catch (const UserError&) {  // what else is missing is said when it is needed
  }
  user_check(
      has_rocm,
      "the C++ compiler {} does not compile HIP, which a GPU's code is: leave out --glibc and --compiler zig, and "
      "take clang 19 or newer: {}",
      quote(compiler.command.front()), usable_compilers(true));
}

std::vector<std::string> device_libraries(const DeviceToolchain& toolchain, const GpuMachine& gpu) {
  std::vector<std::string> options;
  const auto link = [&](const std::string& name) {
    const fs::path file = toolchain.libraries / (name + ".bc");
    if (!fs::exists(file)) return false;
    options.insert(options.end(), {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", file.string()});
    return true;
  };
  if (gpu.vendor == Vendor::nvidia) {
    link(libclc);
    return options;
  }
  link("ocml");
  std::ranges::for_each(switches(gpu), link);
  const std::array<std::string, 3> versions = isa_versions(gpu);
  user_check(std::ranges::any_of(versions, link),
             "the math library for AMD's GPUs in {} knows no {}: {}.bc is not there",
             quote(toolchain.libraries.string()), gpu.architecture, fmt::join(versions, ".bc, "));
  return options;
}

std::vector<std::string> probing_command(const Compiler& compiler, const GpuMachine& gpu, const std::string& output) {
  std::vector<std::string> command = compiler.command;
  const bool is_nvidia = gpu.vendor == Vendor::nvidia;
  command.insert(command.end(), {is_nvidia ? "--target=nvptx64-nvidia-cuda" : "--target=amdgcn-amd-amdhsa",
                                 fmt::format("{}={}", is_nvidia ? "-march" : "-mcpu", gpu.architecture)});
  std::ranges::copy(format_of_code(gpu), std::back_inserter(command));
  command.insert(command.end(), {"-nogpulib", "-x", "c", is_nvidia ? "-S" : "-c", "/dev/null", "-o", output});
  return command;
}

std::string advice_on_compilers(const GpuMachine& gpu) {
  return gpu.vendor == Vendor::nvidia
             ? "give --compiler a clang 19 or newer that is built with the target NVPTX, as Debian's is"
             : "give --compiler clang++-20 or newer, or set ROCM_PATH to a ROCm that has it";
}

std::vector<std::string> device_compile_command(const Compiler& compiler, const GpuMachine& gpu,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<fs::path>& include_folders, const std::string& source,
                                                const std::string& output) {
  std::vector<std::string> command = compiler.command;
  std::ranges::copy(language_options(gpu, compiler), std::back_inserter(command));
  // The row of machine/gpu_machine.h that the kernels read.
  command.push_back("-DONNXC_GPU=" + name_in_kernels(gpu));
  for (const char* argument : {"-std=c++20", "-O3", "-ffp-contract=on", "-fno-exceptions", "-fno-rtti", "-fno-ident",
                               // No symbol that is a hash of the source's path.
                               "-fuse-cuid=none", "-Wno-everything", "-Werror=pass-failed"})
    command.emplace_back(argument);
  command.insert(command.end(), libraries.begin(), libraries.end());
  for (const fs::path& folder : include_folders) command.push_back("-I" + folder.string());
  command.insert(command.end(), {source, "-o", output});
  return command;
}

std::vector<std::string> device_build_lines(const GpuMachine& gpu, const DeviceSuffixes& suffixes) {
  const bool is_nvidia = gpu.vendor == Vendor::nvidia, is_cubin = suffixes.code != suffixes.compiled;
  const std::vector<std::string> command =
      device_compile_command(Compiler(), gpu, {"$LIBRARIES"}, installed_parts("$PREFIX").include_folders,
                             "$SOURCE" + suffixes.source, "$SOURCE" + suffixes.compiled);
  std::vector<std::string> lines = {
      fmt::format("To build its {}, SOURCE being the host file's name, PREFIX the folder that onnxc is installed",
                  is_cubin    ? "cubin"
                  : is_nvidia ? "PTX"
                              : "code object"),
      fmt::format("under and LIBRARIES the options -Xclang -mlink-builtin-bitcode -Xclang FILE for {}",
                  is_nvidia ? "libclc's" : "AMD's device libraries"),
      fmt::format("{}:", fmt::join(device_library_names(gpu), ", ")), fmt::format("  {}", fmt::join(command, " "))};
  if (is_cubin)
    lines.push_back(fmt::format(
        "  {}", fmt::join(ptxas_command("ptxas", gpu, "$SOURCE" + suffixes.compiled, "$SOURCE" + suffixes.code), " ")));
  return lines;
}

}  // namespace onnxc
