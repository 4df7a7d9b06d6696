// Checks nodes against the signatures in ONNX's schemas.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// Checks the number of a node's inputs and outputs, that required ones are present, and the known element types of the
// inputs (`inputs` holds null for absent ones). UserError names node and input, with what was expected and found.
void check_signature(const onnx::NodeProto& node, const std::vector<Value*>& inputs, const onnx::OpSchema& schema,
                     const std::string& what);

// Sets those element types of a node's outputs that follow from the signature: from the inputs' types, or from an
// attribute that names one (Cast's `to`, `dtype`). Others stay undefined until shape inference.
void infer_output_dtypes(Node& node, const onnx::OpSchema& schema);

}  // namespace onnxc
