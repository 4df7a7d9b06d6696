// Checks of a model's form, before anything is built from it: what ONNX demands of versions, names and order.
#pragma once

#include <map>
#include <string>

#include "onnx/onnx_pb.h"
#include "support/limits.h"

namespace onnxc {

// The version of each operator set by domain ("" is ai.onnx).
using OpsetVersions = std::map<std::string, int64_t>;

// Reads the imports of a model or of a function, which `what` names. UserError for one that is given twice, and for
// versions that the ONNX library does not know.
OpsetVersions read_opset_imports(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                                 const std::string& what);
// The same of a model: before IR version 3 there were no imports, and version 1 was meant.
OpsetVersions read_opset_imports(const onnx::ModelProto& model);

// Checks graph, functions and subgraphs: that every value has one name and one producer which comes before its users (a
// cycle is told apart from a wrong order), that outputs are made, and that attributes have distinct names. Also checks
// the limits on nodes and nesting. UserError naming the node or the value.
void check_model(const onnx::ModelProto& model, const Limits& limits);

}  // namespace onnxc
