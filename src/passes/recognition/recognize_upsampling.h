#pragma once

#include "ir/graph.h"

namespace onnxc {

// A GatherND that repeats elements by whole factors becomes a Resize (recognize_operators.h).
void recognize_upsampling(Graph& graph, Node* gather);

}  // namespace onnxc
