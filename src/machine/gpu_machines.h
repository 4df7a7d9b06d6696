// The GPUs that onnxc compiles for, by name.
#pragma once

#include <string>
#include <string_view>

#include "machine/gpu_machine.h"

namespace onnxc::machine {

// The first of an architecture is the one that its name means.
inline constexpr GpuMachine gpu_machines[] = {mi250x,   mi300x,        mi300x_cpx,    mi300a,      mi355x,   rx7900xtx,
                                              rx7800xt, rx7600,        radeon890m,    radeon8060s, rx9070xt, rx9070,
                                              rx9060xt, gfx11_generic, gfx12_generic, a100,        l4,       rtx4090,
                                              h100,     h200,          b200,          rtx5090};

// Finds the row by the name of a card or of an architecture; null if no row has it.
constexpr const GpuMachine* find_gpu(std::string_view name) {
  for (const GpuMachine& machine : gpu_machines)
    if (name == machine.name || name == machine.architecture) return &machine;
  return nullptr;
}

// Whether its code runs on NVIDIA's GPUs of this compute capability: that of "sm_90a" on 9.0 only, that of "sm_80" on
// every later one as well.
constexpr bool runs_on(const GpuMachine& gpu, int capability) {
  if (gpu.vendor != Vendor::nvidia) return false;
  const std::string_view architecture = gpu.architecture;
  int code = 0;
  for (const char digit : architecture.substr(3))
    if (digit >= '0' && digit <= '9') code = 10 * code + (digit - '0');
  return architecture.ends_with('a') ? code == capability : code <= capability;
}

// The name that ptxas has for the card. PTX is for the oldest card that has its instructions, a cubin for the card
// itself: it does not run on another generation.
inline std::string cubin_architecture(const GpuMachine& gpu) {
  const bool is_only_for_it = std::string_view(gpu.architecture).ends_with('a');
  return "sm_" + std::to_string(gpu.compute_capability) + (is_only_for_it ? "a" : "");
}

// Whether a cubin for the card loads on GPUs of this compute capability: those of its generation.
constexpr bool loads_as_cubin(const GpuMachine& gpu, int capability) {
  return runs_on(gpu, capability) && gpu.compute_capability / 10 == capability / 10 &&
         gpu.compute_capability <= capability;
}

// The row whose plans suit a GPU best: of its capability or architecture, with the nearest number of compute units;
// null if no code runs on it. `as_cubin`: only what need not be compiled for it.
constexpr const GpuMachine* nearest_nvidia(int capability, int compute_units, bool as_cubin = false) {
  const GpuMachine* nearest = nullptr;
  int least = 0;
  for (const GpuMachine& gpu : gpu_machines) {
    if (as_cubin ? !loads_as_cubin(gpu, capability) : !runs_on(gpu, capability)) continue;
    const int between = gpu.compute_units - compute_units, distance = between < 0 ? -between : between,
              total = distance + (gpu.compute_capability == capability ? 0 : 1 << 20);
    if (nearest != nullptr && total >= least) continue;
    nearest = &gpu;
    least = total;
  }
  return nearest;
}
// Whether it stands for all cards of a family.
constexpr bool is_family(const GpuMachine& gpu) { return std::string_view(gpu.architecture).ends_with("-generic"); }
// The family whose code runs on an architecture; "" if there is none (LLVM's AMDGPUUsage, "Generic processors").
// The runtime says the same (family_of in gpu/library/amd_family.h).
constexpr std::string_view amd_family(std::string_view architecture) {
  const bool is_rdna3 = architecture.starts_with("gfx110") || architecture.starts_with("gfx115");
  return is_rdna3 ? "gfx11-generic" : architecture.starts_with("gfx120") ? "gfx12-generic" : "";
}
// The row of its architecture with the nearest number of compute units, else that of its family, else null.
constexpr const GpuMachine* nearest_amd(std::string_view architecture, int compute_units) {
  const GpuMachine* nearest = nullptr;
  int least = 0;
  for (const GpuMachine& gpu : gpu_machines) {
    if (gpu.architecture != architecture) continue;
    const int between = gpu.compute_units - compute_units, distance = between < 0 ? -between : between;
    if (nearest != nullptr && distance >= least) continue;
    nearest = &gpu;
    least = distance;
  }
  if (nearest != nullptr) return nearest;
  return find_gpu(amd_family(architecture));
}

constexpr bool is_default_card(const GpuMachine& gpu) {
  return find_gpu(gpu.architecture)->name == std::string_view(gpu.name);
}

}  // namespace onnxc::machine
