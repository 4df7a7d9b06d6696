// Nodes against the signatures that ONNX's schemas give their operators.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// Checks how many inputs and outputs a node has, that those which are not optional are there, and the element types of
// the inputs where they are known (`inputs` holds null for absent ones). UserError naming node and input, with what was
// expected and found.
void check_signature(const onnx::NodeProto& node, const std::vector<Value*>& inputs, const onnx::OpSchema& schema,
                     const std::string& what);

// Gives the outputs of a node the element types that follow from the signature alone: from the types of the inputs, or
// from an attribute that names one (Cast's `to`, `dtype`). Others stay undefined until shape inference.
void infer_output_dtypes(Node& node, const onnx::OpSchema& schema);

}  // namespace onnxc
