// ONNX functions: those that a model defines, and the bodies that ONNX defines for its own operators.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "frontend/attributes.h"
#include "ir/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

using FunctionPointer = std::shared_ptr<const onnx::FunctionProto>;

// The functions of a model by domain, name and overload.
class LocalFunctions {
 public:
  explicit LocalFunctions(const std::shared_ptr<const onnx::ModelProto>& model);
  // The function that a node calls, or null.
  FunctionPointer find(const onnx::NodeProto& node) const;

 private:
  std::map<std::tuple<std::string, std::string, std::string>, FunctionPointer> functions_;
};

// The body of an operator in a version of its operator set, or null if ONNX gives none. Some bodies depend on the
// node's attributes and on the element types of its inputs.
FunctionPointer find_schema_function(const onnx::OpSchema& schema, int version, const onnx::NodeProto& node,
                                     const AttributeMap& attributes, const std::vector<Value*>& inputs);

// The attributes that the body of a local function or of an operator sees: those of the call, and the defaults of the
// others.
AttributeMap bind_attributes(AttributeMap attributes, const onnx::FunctionProto& function);
AttributeMap bind_attributes(AttributeMap attributes, const onnx::OpSchema& schema);

}  // namespace onnxc
