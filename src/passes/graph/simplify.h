// Removes the nodes that do nothing.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Identity, Dropout without its mask, Cast to the type it has, Reshape-like operators and Expand to the shape it has,
// Transpose that keeps the order, Concat of one; and whatever nobody uses. A node whose output is an output of the
// model and whose input is an input of it stays: the two are different memory.
void simplify(Graph& graph);

}  // namespace onnxc
