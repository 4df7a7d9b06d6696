#include "frontend/signature.h"

#include <algorithm>
#include <map>

#include "onnx/defs/data_type_utils.h"
#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

using onnx::OpSchema;
using onnx::Utils::DataTypeUtils;
using FormalParameters = std::vector<OpSchema::FormalParameter>;

// Else a type that an attribute names is not its own: that of a sequence's tensors (SequenceEmpty).
bool allows_tensors(const OpSchema::FormalParameter& formal) {
  return std::ranges::any_of(formal.GetTypes(), [](onnx::DataType type) { return type->starts_with("tensor("); });
}

// How ONNX's schemas write a type: "tensor(float)". The pointer is the same for equal types.
onnx::DataType onnx_type(DType dtype) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(static_cast<int>(dtype));
  return DataTypeUtils::ToType(type);
}

DType dtype_of(onnx::DataType type) {
  const onnx::TypeProto& proto = DataTypeUtils::ToTypeProto(type);
  const DTypeInfo* row = proto.has_tensor_type() ? find_dtype(proto.tensor_type().elem_type()) : nullptr;
  return row == nullptr ? DType::undefined : row->dtype;
}

// Exporters write half types even if the operator's version does not allow them yet (PyTorch: bfloat16 for Conv before
// version 22); they mean the same there as float32 does.
bool is_allowed(DType dtype, const OpSchema::FormalParameter& formal) {
  if (formal.GetTypes().contains(onnx_type(dtype))) return true;
  return is_half(dtype) && formal.GetTypes().contains(onnx_type(DType::float32));
}

// The formal parameter of an input or output; a variadic last one stands for all that follow.
const OpSchema::FormalParameter* formal_of(const FormalParameters& formals, size_t index) {
  if (index < formals.size()) return &formals[index];
  if (!formals.empty() && formals.back().GetOption() == OpSchema::Variadic) return &formals.back();
  return nullptr;
}

std::string count_text(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  if (most == std::numeric_limits<int>::max()) return fmt::format("at least {}", least);
  return fmt::format("{} to {}", least, most);
}

std::string allowed_types(const OpSchema::FormalParameter& formal) {
  std::vector<std::string> names;
  for (onnx::DataType type : formal.GetTypes()) names.push_back(*type);
  std::ranges::sort(names);  // they come in the order of pointers
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_presence(const google::protobuf::RepeatedPtrField<std::string>& names, const FormalParameters& formals,
                    int least, int most, std::string_view kind, const std::string& what) {
  // Absent ones at the end count as not given.
  int count = names.size();
  while (count > 0 && names.Get(count - 1).empty()) --count;
  user_check(count >= least && count <= most, "{}: expected {} {}{}, found {}", what, count_text(least, most), kind,
             (most == std::numeric_limits<int>::max() ? least : most) == 1 ? "" : "s", count);
  for (int i = 0; i < count; ++i) {
    const auto* formal = formal_of(formals, static_cast<size_t>(i));
    user_check(!names.Get(i).empty() || formal == nullptr || formal->GetOption() != OpSchema::Single,
               "{}: {} {} ({}) is missing", what, kind, i, formal == nullptr ? "" : formal->GetName());
  }
}

// The type that each type variable of the signature ("T") stands for at this node.
using TypeBindings = std::map<std::string, DType>;

TypeBindings bind_types(const std::vector<Value*>& inputs, const OpSchema& schema) {
  TypeBindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* formal = formal_of(schema.inputs(), i);
    if (formal == nullptr || inputs[i] == nullptr || inputs[i]->dtype == DType::undefined) continue;
    if (formal->GetOption() == OpSchema::Variadic && !formal->GetIsHomogeneous()) continue;
    bindings.emplace(formal->GetTypeStr(), inputs[i]->dtype);
  }
  return bindings;
}

// The type that an attribute names, for operators whose output type is chosen so.
DType dtype_from_attributes(const Node& node) {
  for (std::string_view name : {"to", "dtype", "output_dtype"}) {
    const Attribute* attribute = node.find_attribute(name);
    const auto* code = attribute == nullptr ? nullptr : std::get_if<int64_t>(attribute);
    const DTypeInfo* row = code == nullptr || *code < 0 || *code > 255 ? nullptr : find_dtype(static_cast<int>(*code));
    if (row != nullptr) return row->dtype;
  }
  if (node.origin.type == "ConstantOfShape") {
    const Attribute* value = node.find_attribute("value");
    const auto* tensor = value == nullptr ? nullptr : std::get_if<Tensor>(value);
    return tensor == nullptr ? DType::float32 : tensor->dtype();
  }
  return DType::undefined;
}

}  // namespace

void check_signature(const onnx::NodeProto& node, const std::vector<Value*>& inputs, const OpSchema& schema,
                     const std::string& what) {
  check_presence(node.input(), schema.inputs(), schema.min_input(), schema.max_input(), "input", what);
  check_presence(node.output(), schema.outputs(), schema.min_output(), schema.max_output(), "output", what);

  // A name may stand for an input of the function around the node, which its call may leave out.
  for (int i = 0; i < node.input_size(); ++i) {
    const auto index = static_cast<size_t>(i);
    const auto* formal = formal_of(schema.inputs(), index);
    const bool is_absent = index >= inputs.size() || inputs[index] == nullptr;
    user_check(!is_absent || node.input(i).empty() || formal == nullptr || formal->GetOption() == OpSchema::Optional,
               "{}: input {} ({}) is {}, an input of the function that the call leaves out", what, i,
               formal == nullptr ? "" : formal->GetName(), quote(node.input(i)));
  }

  const TypeBindings bindings = bind_types(inputs, schema);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* formal = formal_of(schema.inputs(), i);
    if (formal == nullptr || inputs[i] == nullptr || inputs[i]->dtype == DType::undefined) continue;
    const onnx::DataType found = onnx_type(inputs[i]->dtype);
    user_check(is_allowed(inputs[i]->dtype, *formal), "{}: input {} ({}) {} must be of one of the types {}; found {}",
               what, i, formal->GetName(), quote(inputs[i]->name), allowed_types(*formal), *found);
    const auto bound = bindings.find(formal->GetTypeStr());
    user_check(bound == bindings.end() || bound->second == inputs[i]->dtype ||
                   (formal->GetOption() == OpSchema::Variadic && !formal->GetIsHomogeneous()),
               "{}: input {} ({}) {} must have the same type as the inputs before it, {}; found {}", what, i,
               formal->GetName(), quote(inputs[i]->name), bound == bindings.end() ? "" : *onnx_type(bound->second),
               *found);
  }
}

void infer_output_dtypes(Node& node, const OpSchema& schema) {
  const TypeBindings bindings = bind_types(node.inputs, schema);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const auto* formal = formal_of(schema.outputs(), i);
    if (node.outputs[i] == nullptr || formal == nullptr) continue;
    const auto bound = bindings.find(formal->GetTypeStr());
    if (bound != bindings.end()) {
      node.outputs[i]->dtype = bound->second;
    } else if (formal->GetTypes().size() == 1) {
      node.outputs[i]->dtype = dtype_of(*formal->GetTypes().begin());
    } else if (allows_tensors(*formal)) {
      node.outputs[i]->dtype = dtype_from_attributes(node);
    }
  }
}

}  // namespace onnxc
