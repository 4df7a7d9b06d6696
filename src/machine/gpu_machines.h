// The GPUs that onnxc compiles for, by name.
#pragma once

#include <string_view>

#include "machine/gpu_machine.h"

namespace onnxc::machine {

// The first of an architecture is the one that its name means.
inline constexpr GpuMachine gpu_machines[] = {mi250x, mi300x,  mi300x_cpx, mi300a, mi355x, rx7900xtx, a100,
                                              l4,     rtx4090, h100,       h200,   b200,   rtx5090};

// Finds the row by the name of a card or of an architecture; null if no row has it.
constexpr const GpuMachine* find_gpu(std::string_view name) {
  for (const GpuMachine& machine : gpu_machines)
    if (name == machine.name || name == machine.architecture) return &machine;
  return nullptr;
}

constexpr bool is_default_card(const GpuMachine& gpu) {
  return find_gpu(gpu.architecture)->name == std::string_view(gpu.name);
}

}  // namespace onnxc::machine
