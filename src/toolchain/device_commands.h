// From device source to what a GPU's driver loads, with clang and a library of elementary functions: a code object for
// AMD's, linked with its device libraries, and PTX for NVIDIA's, linked with LLVM's libclc. Neither ROCm, nor CUDA, nor
// a GPU is needed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "machine/gpu_machine.h"
#include "toolchain/compiler.h"

namespace onnxc {

// The libraries that kernels link, in the order that clang wants, without ".bc". AMD's releases have all of theirs, or
// some.
std::vector<std::string> device_library_names(const machine::GpuMachine& gpu);

struct DeviceToolchain {
  std::filesystem::path libraries;  // the folder of the device libraries
  Compiler compiler;                // the clang that reads them
};
// For AMD's ONNXC_DEVICE_LIBRARIES names a folder, ROCM_PATH a ROCm; without them Debian's, then /opt/rocm. `compiler`
// is used if ROCm does not bring its own. For NVIDIA's ONNXC_LIBCLC names a folder; without it the library that a wheel
// brings is taken, else a distribution's.
// Throws UserError, which says what to install, if the libraries are missing.
DeviceToolchain find_device_toolchain(const Compiler& compiler, machine::Vendor vendor);
// Called before any work: UserError if the compiler does not know GPUs (zig) and ROCm does not bring its own for all of
// them, naming those that do.
void check_compiles_for_gpus(const Compiler& compiler, std::span<const machine::GpuMachine> gpus);
// The options that link what the release has. UserError if none fits the GPU.
std::vector<std::string> device_libraries(const DeviceToolchain& toolchain, const machine::GpuMachine& gpu);

// A command that fails if the compiler does not know the GPU, and what to do then.
std::vector<std::string> probing_command(const Compiler& compiler, const machine::GpuMachine& gpu,
                                         const std::string& output);
std::string advice_on_compilers(const machine::GpuMachine& gpu);

// The command that compiles `source` for a GPU into the code `output`.
std::vector<std::string> device_compile_command(const Compiler& compiler, const machine::GpuMachine& gpu,
                                                const std::vector<std::string>& libraries,
                                                const std::vector<std::filesystem::path>& include_folders,
                                                const std::string& source, const std::string& output);

// The ends of the names of a program's files, after the host file's name.
struct DeviceSuffixes {
  std::string source;
  std::string compiled;  // by clang
  std::string code;      // what model.so holds: the same, or the cubin that is assembled of it
};
// How a person builds the code from what write_source wrote: lines for the head of the device source.
std::vector<std::string> device_build_lines(const machine::GpuMachine& gpu, const DeviceSuffixes& suffixes);

}  // namespace onnxc
