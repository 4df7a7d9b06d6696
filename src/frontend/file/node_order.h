// The order of nodes in a file. ONNX asks for a topological one, and files exist that have another.
#pragma once

#include "onnx/onnx_pb.h"

namespace onnxc {

// Brings the nodes of each graph, subgraph and function into topological order; those that stand in one stay as they
// are. If there is none, because of a cycle, nothing is moved: the checks of the model name it. Returns whether a node
// was moved.
bool sort_nodes(onnx::ModelProto& model);

}  // namespace onnxc
