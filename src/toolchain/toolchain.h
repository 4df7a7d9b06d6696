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

namespace onnxc {

// Products of narrow types that a model may have.
struct NarrowProducts {
  bool bfloat16 = false, int8 = false;
};

// "native" becomes x86-64-v4 or x86-64-v3, whichever this machine has, so that the result does not depend on finer
// differences; of a model with narrow products the row of a processor whose instruction for them gains (znver4).
// UserError when this machine, or the one asked for, lacks AVX2, FMA or F16C, or when clang does not know the name.
CpuMachine resolve_march(const std::string& march, const CompilerRequest& request = {},
                         const NarrowProducts& products = {});
// With several names: first the CPU whose code runs on all the others, then by their number of features. UsageError if
// there is none, or one is named twice.
std::vector<CpuMachine> resolve_marches(const std::vector<std::string>& marches, const CompilerRequest& request = {},
                                        const NarrowProducts& products = {});
// The same for a name that only clang knows, by clang's own macros.
CpuMachine ask_compiler(const std::string& march, const Compiler& compiler = {});

struct ToolchainOptions {
  CpuMachine machine;
  int jobs = 0;  // 0: as many as there are cores
  int optimization = 3;
  bool reports_kernels = false;
  bool keeps_refused = false;  // the sources, if a compiler refuses them
  Compiler compiler = {};
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

// `output` is the source; the weights stand beside it as output + ".weights", the GPU's as output + ".device.hip" and
// output + ".device.weights". output + ".data.s" makes objects of what is data; how all of it is built is said in the
// source's header.
inline constexpr const char* source_suffixes[] = {"", ".weights", ".device.hip", ".device.weights", ".data.s"};
void write_source(const EmittedModel& model, const std::filesystem::path& output);

}  // namespace onnxc
