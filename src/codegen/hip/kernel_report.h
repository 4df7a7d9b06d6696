// The facts about each kernel of a GPU program: the plan, the cost model's estimate, and the resources that clang
// reports, or ptxas for NVIDIA's GPUs.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "codegen/hip/call/kernel_spec.h"

namespace onnxc {

// A kernel, and the steps that launch it.
struct DeviceKernel {
  std::string name;         // "kernel3"
  std::string description;  // of the first step
  std::vector<size_t> steps;
  std::optional<KernelFigures> figures;  // of a template
};

// As clang (-Rpass-analysis=kernel-resource-usage) or ptxas (-v) reports it.
struct KernelResources {
  int64_t vector_registers = 0, accumulation_registers = 0, scalar_registers = 0;
  int64_t spilled_registers = 0, scratch_bytes = 0, lds_bytes = 0;
  std::optional<int64_t> waves;  // that a SIMD unit can hold at once; ptxas does not tell
};
// `said`: everything that a compile printed.
std::map<std::string, KernelResources> parse_resources(const std::string& said);

// One line for each kernel; only the plan if nothing was compiled.
std::string kernels_table(const std::vector<DeviceKernel>& kernels,
                          const std::map<std::string, KernelResources>& resources);
// The same as a JSON list; unknown fields are null.
nlohmann::ordered_json kernels_json(const std::vector<DeviceKernel>& kernels,
                                    const std::map<std::string, KernelResources>& resources);

// The steps for which the host waits: the nodes that need it, and what it reads from the GPU for them; empty if there
// are none.
std::string host_reads_table(const Program& program);
nlohmann::ordered_json host_reads_json(const Program& program);

}  // namespace onnxc
