// How much arithmetic a nest does, for the operations a second of reports.
#pragma once

#include "ir/loops/loops.h"

namespace onnxc {

// Arithmetic on floating values in one run of the nest.
Expr floating_operations(const LoopNest& nest);

}  // namespace onnxc
