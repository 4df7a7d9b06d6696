// Runs one loop nest.
#pragma once

#include "ir/interpreter/memory.h"

namespace onnxc {

void run_nest(const LoopNest& nest, Memory& memory);

}  // namespace onnxc
