// Writes nodes of a graph of onnxruntime's as an ONNX model.
#pragma once

#include <string>
#include <vector>

#include "provider/api.h"
#include "provider/graph_view.h"

namespace onnxc::provider {

enum class NodeNames { own, numbered };  // numbered: "n12" is the node 12 of the graph

class ModelWriter {
 public:
  ModelWriter(const Api& api, const GraphView& graph) : api_(api), graph_(graph) {}

  // Whether a node's values are tensors of numbers, and onnxruntime gives all of its attributes.
  bool can_write(const NodeView& node) const;

  // The bytes of the model of these nodes, in ascending order. Its inputs and outputs are the values that cross its
  // border, under their names, the constants that it uses are initializers. Throws UserError if that is more than the 2
  // GiB of a protobuf message.
  std::string write(const std::vector<size_t>& nodes, NodeNames names) const;

 private:
  const Api& api_;
  const GraphView& graph_;
};

}  // namespace onnxc::provider
