#include "frontend/attributes.h"

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {
namespace {

using onnx::AttributeProto;

std::string type_name(AttributeProto::AttributeType type) { return AttributeProto::AttributeType_Name(type); }

// The types whose fields hold something.
std::vector<AttributeProto::AttributeType> filled_fields(const AttributeProto& attribute) {
  std::vector<AttributeProto::AttributeType> filled;
  const auto add = [&](bool is_filled, AttributeProto::AttributeType type) {
    if (is_filled) filled.push_back(type);
  };
  add(attribute.has_f(), AttributeProto::FLOAT);
  add(attribute.has_i(), AttributeProto::INT);
  add(attribute.has_s(), AttributeProto::STRING);
  add(attribute.has_t(), AttributeProto::TENSOR);
  add(attribute.has_g(), AttributeProto::GRAPH);
  add(attribute.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  add(attribute.has_tp(), AttributeProto::TYPE_PROTO);
  add(attribute.floats_size() != 0, AttributeProto::FLOATS);
  add(attribute.ints_size() != 0, AttributeProto::INTS);
  add(attribute.strings_size() != 0, AttributeProto::STRINGS);
  add(attribute.tensors_size() != 0, AttributeProto::TENSORS);
  add(attribute.graphs_size() != 0, AttributeProto::GRAPHS);
  add(attribute.sparse_tensors_size() != 0, AttributeProto::SPARSE_TENSORS);
  add(attribute.type_protos_size() != 0, AttributeProto::TYPE_PROTOS);
  return filled;
}

// Nothing for the types that no operator of ours has.
std::optional<Attribute> read_primitive(const AttributeProto& attribute) {
  switch (attribute_type(attribute)) {
    case AttributeProto::INT:
      return attribute.i();
    case AttributeProto::FLOAT:
      return attribute.f();
    case AttributeProto::STRING:
      return attribute.s();
    case AttributeProto::INTS:
      return std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end());
    case AttributeProto::FLOATS:
      return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
    case AttributeProto::STRINGS:
      return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
    default:
      return std::nullopt;
  }
}

Attribute read_attribute(const AttributeProto& attribute, TensorReader& tensors,
                         const std::shared_ptr<const void>& owner, const std::string& what) {
  if (std::optional<Attribute> primitive = read_primitive(attribute)) return *std::move(primitive);
  const auto type = attribute_type(attribute);
  if (type == AttributeProto::TENSOR) return tensors.read(attribute.t(), what, owner);
  if (type == AttributeProto::SPARSE_TENSOR) return tensors.read(attribute.sparse_tensor(), what, owner);
  user_error("{}: attributes of type {} are not supported", what, type_name(type));
}

std::string describe_attribute(const std::string& name, const std::string& what) {
  return fmt::format("{}: its attribute {}", what, quote(name));
}

}  // namespace

AttributeProto::AttributeType attribute_type(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  const std::vector<AttributeProto::AttributeType> filled = filled_fields(attribute);
  return filled.empty() ? AttributeProto::UNDEFINED : filled.front();
}

void check_filled_field(const AttributeProto& attribute, const std::string& what) {
  const AttributeProto::AttributeType expected = attribute_type(attribute);
  for (AttributeProto::AttributeType found : filled_fields(attribute))
    user_check(found == expected, "{} is of type {}, and has a value of type {}",
               describe_attribute(attribute.name(), what), type_name(expected), type_name(found));
}

AttributeMap resolve_attributes(const onnx::NodeProto& node, const AttributeMap& caller, const std::string& what) {
  AttributeMap attributes;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      attributes.emplace(attribute.name(), &attribute);
      continue;
    }
    const auto referred = caller.find(attribute.ref_attr_name());
    if (referred == caller.end()) continue;
    const auto expected = attribute.type(), found = attribute_type(*referred->second);
    user_check(expected == AttributeProto::UNDEFINED || expected == found,
               "{}: its attribute {} refers to {} of the function's caller as {}, and that is {}", what,
               quote(attribute.name()), quote(attribute.ref_attr_name()), type_name(expected), type_name(found));
    attributes.emplace(attribute.name(), referred->second);
  }
  return attributes;
}

void check_attributes(const AttributeMap& attributes, const onnx::OpSchema& schema, const std::string& what) {
  for (const auto& [name, attribute] : attributes) {
    if (name.starts_with("__")) continue;  // ONNX leaves these to whoever wrote the file
    const auto formal = schema.attributes().find(name);
    user_check(formal != schema.attributes().end(), "{}: {} has no attribute {} (since version {})", what,
               schema.Name(), quote(name), schema.SinceVersion());
    const auto found = attribute_type(*attribute), expected = formal->second.type;
    // An empty list in a file without types cannot be told from nothing.
    user_check(found == expected || found == AttributeProto::UNDEFINED, "{} must be of type {}, found {}",
               describe_attribute(name, what), type_name(expected), type_name(found));
  }
  for (const auto& [name, formal] : std::map(schema.attributes().begin(), schema.attributes().end()))
    user_check(!formal.required || attributes.contains(name), "{} is required", describe_attribute(name, what));
}

std::vector<NamedAttribute> read_attributes(const AttributeMap& attributes, const onnx::OpSchema* schema,
                                            TensorReader& tensors, const std::shared_ptr<const void>& owner,
                                            const std::string& what) {
  std::vector<NamedAttribute> result;
  for (const auto& [name, attribute] : attributes) {
    // TYPE_PROTO occurs only for an empty Optional, which has no operator here.
    const auto type = attribute_type(*attribute);
    if (type == AttributeProto::UNDEFINED || type == AttributeProto::TYPE_PROTO) continue;
    result.push_back({name, read_attribute(*attribute, tensors, owner, describe_attribute(name, what))});
  }
  if (schema == nullptr) return result;
  // Sorted, as the schema's own order is that of a hash table.
  for (const auto& [name, formal] : std::map(schema->attributes().begin(), schema->attributes().end())) {
    if (attributes.contains(name)) continue;
    if (std::optional<Attribute> value = read_primitive(formal.default_value))
      result.push_back({name, *std::move(value)});
  }
  return result;
}

}  // namespace onnxc
