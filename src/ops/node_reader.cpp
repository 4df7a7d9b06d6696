#include "ops/node_reader.h"

#include <algorithm>

namespace onnxc {

const Value& NodeReader::input(size_t i) const {
  check(has_input(i), "input {} is missing", i);
  return *node_.inputs[i];
}

const Shape& NodeReader::shape(size_t i) const {
  const Value& value = input(i);
  internal_check(value.shape.has_value(), "shapes of inputs are inferred before their users");
  return *value.shape;
}

std::optional<std::vector<Expr>> NodeReader::elements(size_t i) const {
  const Value& value = input(i);
  if (value.elements) return value.elements;
  if (!value.constant || value.constant->size() > Value::maximum_elements * 1024) return std::nullopt;
  if (!is_integer(value.dtype) && value.dtype != DType::boolean) return std::nullopt;
  std::vector<int64_t> integers = value.constant->as_int64();
  return std::vector<Expr>(integers.begin(), integers.end());
}

std::vector<Expr> NodeReader::needed_elements(size_t i, std::string_view role) const {
  std::optional<std::vector<Expr>> values = elements(i);
  check(values.has_value(), "input {} ('{}', {}) depends on the data, and its values do not fit into expressions", i,
        input(i).name, role);
  return *values;
}

const Tensor* NodeReader::constant(size_t i) const {
  const Value& value = input(i);
  return value.constant ? &*value.constant : nullptr;
}

namespace {

template <class T>
const T* typed(const NodeReader& reader, std::string_view name, const char* type) {
  const Attribute* attribute = reader.node().find_attribute(name);
  if (attribute == nullptr) return nullptr;
  const T* value = std::get_if<T>(attribute);
  reader.check(value != nullptr, "attribute '{}' must be {}", name, type);
  return value;
}

template <class T>
T value_or(const T* value, T otherwise) {
  return value == nullptr ? std::move(otherwise) : *value;
}

}  // namespace

int64_t NodeReader::integer(std::string_view name, int64_t otherwise) const {
  return value_or(typed<int64_t>(*this, name, "an integer"), otherwise);
}

int64_t NodeReader::integer(std::string_view name) const {
  const int64_t* value = typed<int64_t>(*this, name, "an integer");
  check(value != nullptr, "attribute '{}' is missing; it is required", name);
  return *value;
}

float NodeReader::real(std::string_view name, float otherwise) const {
  return value_or(typed<float>(*this, name, "a float"), otherwise);
}

std::string NodeReader::text(std::string_view name, std::string_view otherwise) const {
  return value_or(typed<std::string>(*this, name, "a string"), std::string(otherwise));
}

std::vector<int64_t> NodeReader::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  return value_or(typed<std::vector<int64_t>>(*this, name, "a list of integers"), std::move(otherwise));
}

std::vector<float> NodeReader::reals(std::string_view name, std::vector<float> otherwise) const {
  return value_or(typed<std::vector<float>>(*this, name, "a list of floats"), std::move(otherwise));
}

std::vector<std::string> NodeReader::texts(std::string_view name) const {
  return value_or(typed<std::vector<std::string>>(*this, name, "a list of strings"), {});
}

const Tensor* NodeReader::tensor(std::string_view name) const { return typed<Tensor>(*this, name, "a tensor"); }

std::optional<std::vector<Expr>> NodeReader::integers_from(size_t i, std::string_view attribute) const {
  if (has_input(i)) {
    return needed_elements(i, attribute);
  }
  if (!has_attribute(attribute)) return std::nullopt;
  std::vector<int64_t> values = integers(attribute);
  return std::vector<Expr>(values.begin(), values.end());
}

size_t NodeReader::axis(int64_t value, size_t rank) const {
  auto signed_rank = static_cast<int64_t>(rank);
  check(value >= -signed_rank && value < signed_rank, "axis {} is out of range for a tensor of rank {}", value, rank);
  return static_cast<size_t>(value < 0 ? value + signed_rank : value);
}

std::vector<size_t> NodeReader::axes(const std::vector<Expr>& values, size_t rank) const {
  std::vector<size_t> axes;
  for (const Expr& value : values) {
    const std::optional<int64_t> known = value.constant();
    check(known.has_value(), "axes must be known when the model is compiled, found {}", short_text(value));
    const size_t normal = axis(*known, rank);
    check(std::ranges::find(axes, normal) == axes.end(), "axis {} is given twice", *known);
    axes.push_back(normal);
  }
  return axes;
}

}  // namespace onnxc
