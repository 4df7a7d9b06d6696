// Removes the steps that compute what nobody reads.
//
// Before, with `dims` the second input of a Reshape whose shape is known as expressions:
//   dims[i] = H; y[i] = x[i]
// After: y[i] = x[i]
//
// So exporters write sizes: as tensors, beside the nodes that take them. Shape inference knows what they hold, and each
// step would be a launch on a GPU. A step is needed if it writes an output, or memory that a needed step reads; those
// that bind sizes and those of loops are all needed.
#pragma once

#include "ir/program/program.h"

namespace onnxc {

void drop_dead_steps(Program& program);

}  // namespace onnxc
