#include "ops/ml/scores.h"

#include <limits>
#include <numbers>

namespace onnxc {
namespace {

Value* float_number(ExpandContext& c, double value) { return c.number(DType::float32, value); }

// The softmax of the elements that are not 0; those stay 0.
Value* softmax_zero(ExpandContext& c, Value* scores) {
  Value* is_zero = c.add("LessOrEqual", {c.add("Abs", {scores}), float_number(c, 1e-7)});
  Value* none = float_number(c, -std::numeric_limits<double>::infinity());
  Value* result = c.add("Softmax", {c.add("Where", {is_zero, none, scores})}, {{"axis", int64_t{1}}});
  return c.add("Where", {is_zero, float_number(c, 0), result});
}

// The quantile of the normal distribution, by S. Winitzki's formula for the inverse of erf with a = 0.147, which ONNX's
// reference and onnxruntime have: right to 2e-3.
Value* probit(ExpandContext& c, Value* scores) {
  constexpr double a = 0.147;
  Value* x = c.add("Sub", {c.add("Mul", {scores, float_number(c, 2)}), float_number(c, 1)});
  Value* one = float_number(c, 1);
  Value* log = c.add("Log", {c.add("Mul", {c.add("Sub", {one, x}), c.add("Add", {one, x})})});
  Value* v = c.add("Add", {c.add("Mul", {log, float_number(c, 0.5)}), float_number(c, 2 / (std::numbers::pi * a))});
  Value* root = c.add("Sqrt", {c.add("Sub", {c.add("Mul", {v, v}), c.add("Mul", {log, float_number(c, 1 / a)})})});
  Value* size = c.add("Mul", {c.add("Sqrt", {c.add("Sub", {root, v})}), float_number(c, std::numbers::sqrt2)});
  Value* is_negative = c.add("Less", {x, float_number(c, 0)});
  return c.add("Where", {is_negative, c.add("Neg", {size}), size});
}

}  // namespace

std::string post_transform(const NodeReader& c) {
  const std::string name = c.text("post_transform", "NONE");
  c.check(name == "NONE" || name == "LOGISTIC" || name == "SOFTMAX" || name == "SOFTMAX_ZERO" || name == "PROBIT",
          "attribute 'post_transform' is '{}', none of NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT", name);
  return name;
}

Value* transformed(ExpandContext& c, Value* scores, const std::string& transform) {
  if (transform == "LOGISTIC") return c.add("Sigmoid", {scores});
  if (transform == "SOFTMAX") return c.add("Softmax", {scores}, {{"axis", int64_t{1}}});
  if (transform == "SOFTMAX_ZERO") return softmax_zero(c, scores);
  return transform == "PROBIT" ? probit(c, scores) : scores;
}

Value* integers_or_strings(ExpandContext& c, const char* integers, const char* strings) {
  c.check(c.has_attribute(integers) != c.has_attribute(strings), "one of the attributes '{}' and '{}' is expected",
          integers, strings);
  return c.has_attribute(integers) ? c.integers(c.NodeReader::integers(integers))
                                   : c.constant(c.string_tensor(c.texts(strings)));
}

Value* best_class(ExpandContext& c, Value* scores) {
  return c.add("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

Value* as_float(ExpandContext& c, size_t i) {
  return c.dtype(i) == DType::float32 ? c.in(i)
                                      : c.add("Cast", {c.in(i)}, {{"to", static_cast<int64_t>(DType::float32)}});
}

}  // namespace onnxc
