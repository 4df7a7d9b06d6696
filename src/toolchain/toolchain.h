// From emitted source to an object or a shared object, with clang and lld.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codegen/model/emit.h"
#include "machine/cpu_machine.h"
#include "toolchain/compiler.h"
#include "toolchain/device_commands.h"

namespace onnxc {

struct ToolchainOptions {
  CpuMachine machine;
  int jobs = 0;  // 0: as many as there are cores
  int optimization = 3;
  bool reports_kernels = false;
  bool keeps_refused = false;  // the sources, if a compiler refuses them
  Compiler compiler = {};
  std::string ptxas = {};  // for cubins, and for what a report tells of PTX; empty: there is none
  // For each compiler: its memory in bytes, and the time at which all must have ended.
  std::optional<int64_t> memory = {};
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

// Writes `output` through a temporary file and a rename. UserError when there is no compiler or the disk is full;
// InternalError when the compiler refuses our source: with `keeps_refused` the source is kept, and the error has the
// command that repeats it. They return the compilers' messages; with `reports_kernels` these include each GPU kernel's
// resources (codegen/hip/kernel_report.h reads them).
std::string build_shared_object(const EmittedModel& model, const ToolchainOptions& options,
                                const std::filesystem::path& output);
std::string build_object(const EmittedModel& model, const ToolchainOptions& options,
                         const std::filesystem::path& output);

// `output` is the source; the weights stand beside it as output + ".weights", and of each GPU its source and,
// if no other has the same, its weights. output + ".data.s" makes objects of what is data; how all of it is built
// is said in the source's header.
inline constexpr const char* source_suffixes[] = {"", ".weights", ".data.s"};
// ".device.hip", ".device.weights" and ".gfx942.co" or ".sm_80.ptx"; of a further GPU or graph, `index` counting all,
// ".device1.hip" and so on; of a further graph ".entry1.gfx942.co".
DeviceSuffixes device_suffixes(const machine::GpuMachine& gpu, size_t index, bool is_cubin, size_t entry);
std::string device_weights_suffix(size_t index);
void write_source(const EmittedModel& model, const std::filesystem::path& output);

}  // namespace onnxc
