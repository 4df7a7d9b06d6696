// The GPUs that onnxc compiles for, by name.
#pragma once

#include <string_view>

#include "machine/gpu_machine.h"

namespace onnxc::machine {

inline constexpr GpuMachine gpu_machines[] = {gfx90a, gfx942, gfx950, gfx1100};

// The row of a name; null if there is none.
constexpr const GpuMachine* find_gpu(std::string_view name) {
  for (const GpuMachine& machine : gpu_machines)
    if (name == machine.name) return &machine;
  return nullptr;
}

}  // namespace onnxc::machine
