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

// Attributes by name: those of a function's call, to which its body refers.
using AttributeMap = std::map<std::string, const onnx::AttributeProto*>;

// The attributes of a node, with references to those of the function around it (`caller`) resolved. A reference to an
// attribute that the caller does not give is left out, as ONNX says. UserError for a type that does not agree; `what`
// names the node in errors, here and below.
AttributeMap resolve_attributes(const onnx::NodeProto& node, const AttributeMap& caller, const std::string& what);

// The type of an attribute. Before IR version 2 files did not write it: the field that is filled tells it.
onnx::AttributeProto::AttributeType attribute_type(const onnx::AttributeProto& attribute);

// Checks that no field is filled but that of the type which the attribute says it has. `what` names the node. A file
// may leave out a number that is 0.
void check_filled_field(const onnx::AttributeProto& attribute, const std::string& what);

// Checks the attributes against those that the operator has: unknown and missing ones, and types. UserError naming the
// node (`what`) and the attribute.
void check_attributes(const AttributeMap& attributes, const onnx::OpSchema& schema, const std::string& what);

// The typed attributes by name, and after them the defaults of those that the operator has and the node does not
// (`schema` may be null). UserError for types of attributes that are not supported.
std::vector<NamedAttribute> read_attributes(const AttributeMap& attributes, const onnx::OpSchema* schema,
                                            TensorReader& tensors, const std::shared_ptr<const void>& owner,
                                            const std::string& what);

}  // namespace onnxc
