#include "frontend/constant_node.h"

#include "support/diagnostics.h"
#include "support/text.h"

namespace onnxc {

Tensor read_constant(const AttributeMap& attributes, TensorReader& tensors, const std::shared_ptr<const void>& owner,
                     const std::string& what) {
  user_check(attributes.size() == 1, "{}: exactly one of value, sparse_value, value_int… must be given, found {}", what,
             attributes.size());
  const auto& [name, attribute] = *attributes.begin();
  const auto count = [](const auto& field) { return std::vector<int64_t>{field.size()}; };
  if (name == "value") return tensors.read(attribute->t(), what, owner);
  if (name == "sparse_value") return tensors.read(attribute->sparse_tensor(), what, owner);
  if (name == "value_int") return Tensor::of<int64_t>(DType::int64, {}, {attribute->i()});
  if (name == "value_float") return Tensor::of<float>(DType::float32, {}, {attribute->f()});
  if (name == "value_ints")
    return Tensor::of<int64_t>(DType::int64, count(attribute->ints()),
                               {attribute->ints().begin(), attribute->ints().end()});
  if (name == "value_floats")
    return Tensor::of<float>(DType::float32, count(attribute->floats()),
                             {attribute->floats().begin(), attribute->floats().end()});
  if (name == "value_string") {
    google::protobuf::RepeatedPtrField<std::string> texts;
    texts.Add(std::string(attribute->s()));
    return tensors.read(texts, {}, what);
  }
  if (name == "value_strings") return tensors.read(attribute->strings(), count(attribute->strings()), what);
  user_error("{}: constants given as {} are not supported", what, quote(name));
}

}  // namespace onnxc
