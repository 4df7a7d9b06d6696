// Removes nodes that compute nothing.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Removes Identity, Dropout without its mask, Cast to its own type, Reshape-like operators and Expand to their own
// shape, Transpose that keeps the order, Concat of one, Where whose condition takes one side everywhere; and every node
// without users. A node stays whose output is an output of the model and whose input is an input of it: the two are
// different memory.
void simplify(Graph& graph);

}  // namespace onnxc
