#include "ir/loops/rounding.h"

#include <unordered_map>

namespace onnxc {
namespace {

// float32 to a half type
bool is_rounding(const Scalar& scalar) {
  return scalar->op == ScalarOp::cast && is_half(scalar.dtype()) && scalar->operands[0].dtype() == DType::float32;
}

class RoundingRemover {
 public:
  Scalar remove(const Scalar& scalar) {
    if (auto known = done_.find(&*scalar); known != done_.end()) return known->second;
    Scalar result = remove_at(scalar);
    done_.emplace(&*scalar, result);
    return result;
  }

 private:
  Scalar remove_at(const Scalar& scalar) {
    if (is_rounding(scalar)) return remove(scalar->operands[0]);
    if (scalar->op == ScalarOp::cast && scalar.dtype() == DType::float32 && is_rounding(scalar->operands[0]))
      return remove(scalar->operands[0]->operands[0]);
    auto node = std::make_shared<ScalarNode>(*scalar);
    // If an operator computes in the half type itself, its operand stays rounded.
    for (Scalar& operand : node->operands)
      if (Scalar kept = remove(operand); kept.dtype() == operand.dtype()) operand = kept;
    return Scalar(std::move(node));
  }

  std::unordered_map<const ScalarNode*, Scalar> done_;
};

}  // namespace

Scalar without_rounding(const Scalar& scalar) { return RoundingRemover().remove(scalar); }

Scalar before_rounding(const Scalar& stored) { return stored && is_rounding(stored) ? stored->operands[0] : stored; }

}  // namespace onnxc
