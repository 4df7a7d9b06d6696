// Runs a kernel over its grid, on several threads of the host.
#pragma once

#include <span>

#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {

struct DispatchOptions {
  int threads = 0;                                 // of the host; 0: as many as it has
  uint64_t instruction_limit = uint64_t{1} << 32;  // of a wave between two barriers
  Races races = Races::all;
};

// Throws UserError for a launch that HIP refuses, with so many bytes of arguments packed by the host.
void check_launch(const Launch& launch, size_t argument_bytes);

// Checks the launch, places the kernel's arguments, runs every work group. `explicit_arguments`
// is the segment as the host packed it, hidden arguments excepted. Throws UserError for a launch that HIP refuses, and
// SimulationFault for the first faulty work group in the grid's order.
Counts dispatch(DeviceMemory& memory, const LoadedModule& module, const Launch& launch,
                std::span<const std::byte> explicit_arguments, const DispatchOptions& options = {});

}  // namespace gfx942sim
