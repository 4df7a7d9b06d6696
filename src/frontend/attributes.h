// ONNX attributes to typed ones.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontend/file/tensor_data.h"
#include "ir/graph.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"

namespace onnxc {

// Attributes by name, where they are looked up: those of a call of a function, which its body refers to.
using AttributeMap = std::map<std::string, const onnx::AttributeProto*>;

// The attributes of a node with its references to those of the function around it (`caller`) resolved; one that refers
// to an attribute that the caller does not give is left out, as ONNX says. UserError for a type that does not agree;
// `what` names the node in errors, here and below.
AttributeMap resolve_attributes(const onnx::NodeProto& node, const AttributeMap& caller, const std::string& what);

// The type of an attribute; before IR version 2 it was not written, and is known by the field that is filled.
onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& attribute);

// Checks the attributes against those that the operator has: unknown and missing ones, and types. UserError naming the
// node (`what`) and the attribute.
void check_attributes(const AttributeMap& attributes, const onnx::OpSchema& schema, const std::string& what);

// The typed attributes by name, and after them the defaults of those that the operator has and the node does not
// (`schema` may be null). UserError for types of attributes that are not supported.
std::vector<NamedAttribute> read_attributes(const AttributeMap& attributes, const onnx::OpSchema* schema,
                                            TensorReader& tensors, const std::shared_ptr<const void>& owner,
                                            const std::string& what);

}  // namespace onnxc
