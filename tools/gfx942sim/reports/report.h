// The work of a launch, for programs.
#pragma once

#include <string>

#include "gfx942sim/wave/work_group.h"

namespace gfx942sim {

// One line: an object with the kernel, its geometry, its counts and its modelled time. `seconds` is the simulator's
// own.
std::string to_json(const Launch& launch, const Counts& counts);

}  // namespace gfx942sim
