#include "frontend/functions.h"

#include "frontend/file/onnx_names.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// The type of an input as ONNX's builders of bodies want it; one that is not known has none.
onnx::TypeProto type_of(const Value* value) {
  onnx::TypeProto type;
  if (value == nullptr || value->dtype == DType::undefined) return type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int>(value->dtype));
  if (!value->shape) return type;
  onnx::TensorShapeProto* shape = type.mutable_tensor_type()->mutable_shape();
  for (const Expr& dim : *value->shape) {
    onnx::TensorShapeProto::Dimension* added = shape->add_dim();
    if (const std::optional<int64_t> constant = dim.constant()) added->set_dim_value(*constant);
  }
  return type;
}

FunctionPointer build_for_context(const onnx::OpSchema& schema, int version, const onnx::NodeProto& node,
                                  const AttributeMap& attributes, const std::vector<Value*>& inputs) {
  onnx::NodeProto resolved = node;
  resolved.clear_attribute();
  for (const auto& [name, attribute] : attributes) {
    *resolved.add_attribute() = *attribute;
    resolved.mutable_attribute(resolved.attribute_size() - 1)->set_name(name);
  }
  std::vector<onnx::TypeProto> types;
  for (const Value* input : inputs) types.push_back(type_of(input));
  auto function = std::make_shared<onnx::FunctionProto>();
  const onnx::FunctionBodyBuildContextImpl context(resolved, types);
  return schema.BuildContextDependentFunction(context, *function, version) ? function : nullptr;
}

}  // namespace

LocalFunctions::LocalFunctions(const std::shared_ptr<const onnx::ModelProto>& model) {
  for (const onnx::FunctionProto& function : model->functions())
    functions_[{normal_domain(function.domain()), function.name(), function.overload()}] =
        FunctionPointer(model, &function);
}

FunctionPointer LocalFunctions::find(const onnx::NodeProto& node) const {
  const auto found = functions_.find({normal_domain(node.domain()), node.op_type(), node.overload()});
  return found == functions_.end() ? nullptr : found->second;
}

FunctionPointer find_schema_function(const onnx::OpSchema& schema, int version, const onnx::NodeProto& node,
                                     const AttributeMap& attributes, const std::vector<Value*>& inputs) {
  if (const onnx::FunctionProto* function = schema.GetFunction(version))
    return FunctionPointer(FunctionPointer(), function);  // the registry of schemas owns it, for ever
  if (!schema.HasContextDependentFunction()) return nullptr;
  try {
    return build_for_context(schema, version, node, attributes, inputs);
  } catch (const UserError&) {
    throw;
  } catch (const std::exception&) {
    // ONNX's builders throw if the types are not known or the version has no body; the node is then reported as one
    // that cannot be compiled.
    return nullptr;
  }
}

AttributeMap bind_attributes(AttributeMap attributes, const onnx::FunctionProto& function) {
  for (const onnx::AttributeProto& attribute : function.attribute_proto())
    attributes.emplace(attribute.name(), &attribute);
  return attributes;
}

AttributeMap bind_attributes(AttributeMap attributes, const onnx::OpSchema& schema) {
  for (const auto& [name, formal] : schema.attributes()) {
    if (formal.default_value.type() != onnx::AttributeProto::UNDEFINED) attributes.emplace(name, &formal.default_value);
  }
  return attributes;
}

}  // namespace onnxc
