// Which parts of a graph its outputs depend on.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "onnx/onnx_pb.h"

namespace onnxc {

struct NeededParts {
  std::unordered_set<const onnx::NodeProto*> nodes;
  std::unordered_set<std::string> values;  // inputs and initializers among them
};

// The tensors that a node's attributes name: those of xs, zs and y of a Gradient.
std::vector<std::string> names_in_attributes(const onnx::NodeProto& node);
// The inputs of a node, and every name that its attributes and subgraphs use.
void add_used_names(const onnx::NodeProto& node, std::unordered_set<std::string>& names);

// Walks back from the outputs; a node needs its inputs and every name that its subgraphs use. The nodes must stand in
// topological order.
NeededParts find_needed_parts(const onnx::GraphProto& graph, const std::vector<std::string>& outputs);

}  // namespace onnxc
