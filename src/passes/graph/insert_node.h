// A node that a pass puts into a graph.
#pragma once

#include "ir/graph.h"

namespace onnxc {

// Inserts an operator of ONNX with one output before another node: it has that node's name and place, and runs if that
// one does. Returns the output.
Value* insert_node(Graph& graph, const Node* before, std::string_view type, int version, std::vector<Value*> inputs,
                   std::vector<NamedAttribute> attributes, std::string name, DType dtype, Shape shape);

// Inserts a Cast before a node, at the end if that is null. It is named after its input, and runs if `other` does;
// always if that is null. Returns the output.
Value* insert_cast(Graph& graph, Value* input, DType wanted, const Node* before, const Node* other);

}  // namespace onnxc
