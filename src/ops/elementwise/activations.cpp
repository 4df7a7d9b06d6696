// Activation functions of one tensor, and PRelu. Formulas are those of ONNX, in a form that neither overflows nor
// cancels: an infinity goes to its limit.
#include <cmath>
#include <numbers>

#include "ops/elementwise/elementwise.h"
#include "ops/families.h"

namespace onnxc {
namespace {

// 1 / (1 + e^-x): e^-x may become infinite, which gives the limit 0.
Scalar sigmoid_of(const Scalar& x) { return number(x, 1) / (number(x, 1) + exponential(-x)); }

// log(1 + y) for y >= 0, accurate if 1 + y rounds y away (W. Kahan): the error of u = 1 + y cancels in y / (u - 1).
Scalar log_one_plus(const Scalar& y) {
  Scalar one = number(y, 1);
  Scalar u = one + y;
  return scalar::select(equal(u, one), y, logarithm(u) * (y / (u - one)));
}

Scalar zero_below(const Scalar& x) { return maximum(x, number(x, 0)); }

Scalar relu(const NodeReader&, const Scalar& x) { return zero_below(x); }

Scalar sigmoid(const NodeReader&, const Scalar& x) { return sigmoid_of(x); }

Scalar leaky_relu(const NodeReader& node, const Scalar& x) {
  return scalar::select(less(x, number(x, 0)), number(x, node.real("alpha", 0.01F)) * x, x);
}

Scalar thresholded_relu(const NodeReader& node, const Scalar& x) {
  return scalar::select(less(number(x, node.real("alpha", 1)), x), x, number(x, 0));
}

// slope * max(0, min(1, alpha * x + beta)) is what HardSigmoid and HardSwish are made of.
Scalar clamped_line(const Scalar& x, double alpha, double beta) {
  return maximum(number(x, 0), minimum(number(x, 1), number(x, alpha) * x + number(x, beta)));
}

Scalar hard_sigmoid(const NodeReader& node, const Scalar& x) {
  return clamped_line(x, node.real("alpha", 0.2F), node.real("beta", 0.5F));
}

Scalar hard_swish(const NodeReader&, const Scalar& x) { return x * clamped_line(x, 1.0 / 6.0, 0.5); }

// alpha * (e^x - 1) below zero, the exponential taken only there.
Scalar exponential_below_zero(const Scalar& x, double alpha) {
  return number(x, alpha) * (exponential(x) - number(x, 1));
}

Scalar elu(const NodeReader& node, const Scalar& x) {
  return scalar::select(less(x, number(x, 0)), exponential_below_zero(x, node.real("alpha", 1)), x);
}

Scalar selu(const NodeReader& node, const Scalar& x) {
  bool early = node.version() < 6;
  float alpha = node.real("alpha", early ? 1.6732F : 1.67326319217681884765625F);
  float gamma = node.real("gamma", early ? 1.0507F : 1.05070102214813232421875F);
  return number(x, gamma) * scalar::select(less(number(x, 0), x), x, exponential_below_zero(x, alpha));
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1)); with an alpha of 0 that is NaN but below zero.
Scalar celu(const NodeReader& node, const Scalar& x) {
  float alpha = node.real("alpha", 1);
  if (alpha == 0) return scalar::select(less(x, number(x, 0)), number(x, 0), number(x, NAN));
  return scalar::select(less(x, number(x, 0)), exponential_below_zero(x / number(x, alpha), 1) * number(x, alpha), x);
}

// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
Scalar softplus(const NodeReader&, const Scalar& x) { return zero_below(x) + log_one_plus(exponential(-absolute(x))); }

Scalar softsign(const NodeReader&, const Scalar& x) { return x / (number(x, 1) + absolute(x)); }

Scalar swish(const NodeReader& node, const Scalar& x) { return x * sigmoid_of(number(x, node.real("alpha", 1)) * x); }

// x * tanh(log(1 + e^x)) = x * n / (n + 2) with n = e^x * (e^x + 2); beyond 20 the factor is 1 to the last bit.
Scalar mish(const NodeReader&, const Scalar& x) {
  Scalar e = exponential(x);
  Scalar n = e * (e + number(x, 2));
  return scalar::select(less(number(x, 20), x), x, x * (n / (n + number(x, 2))));
}

// x * Phi(x), or its approximation by tanh (ONNX Gelu 20).
Scalar gelu(const NodeReader& node, const Scalar& x) {
  Scalar half = number(x, 0.5), one = number(x, 1);
  if (node.text("approximate", "none") == "none")
    return half * x * (one + scalar::unary(ScalarOp::error_function, x * number(x, 1 / std::numbers::sqrt2)));
  Scalar inner = number(x, std::sqrt(2 / std::numbers::pi)) * (x + number(x, 0.044715) * x * x * x);
  return half * x * (one + scalar::unary(ScalarOp::hyperbolic_tangent, inner));
}

void infer_gelu(InferContext& c) {
  infer_like_input<Types::floating>(c);
  std::string approximate = c.text("approximate", "none");
  c.check(approximate == "none" || approximate == "tanh",
          "attribute 'approximate' must be \"none\" or \"tanh\", found \"{}\"", approximate);
}

// ---------------------------------------------------------------------------------------------------------- PRelu

// Until version 6 the slope is one number, or one a channel (axis 1); since 7 it broadcasts to the input.
bool slope_is_by_channel(const NodeReader& node) { return node.version() < 7 && node.rank(1) == 1; }

void infer_prelu(InferContext& c) {
  expect_one_type(c, Types::numeric);
  const Shape &x = c.shape(0), &slope = c.shape(1);
  if (slope_is_by_channel(c)) {
    if (!slope[0].is_constant(1)) {
      c.check(x.size() >= 2, "a slope for each channel needs an input of rank 2 or more, found {}", short_text(x));
      c.same(slope[0], x[1], "the slopes and the channels");
    }
  } else {
    expect_broadcasts_to_first(c, 1);
  }
  c.output(0, c.dtype(0), x);
}

void define_prelu(DefineContext& c) {
  Operand x = c.in(0), slope = c.in(1);
  bool by_channel = slope_is_by_channel(c) && !slope.shape[0].is_constant(1);
  c.elementwise([&](const std::vector<Expr>& i) {
    Scalar value = x.compute(i);
    Scalar factor = slope.compute(by_channel ? std::vector<Expr>{i[1]} : slope.broadcast_indices(i));
    return scalar::select(less(value, number(value, 0)), value * factor, value);
  });
}

using enum LayoutRule;
using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "Relu", infer_like_input<Types::numeric>, define_unary_formula<relu>, computes, follows},
    {"", "LeakyRelu", infer_like_input<Types::floating>, define_unary_formula<leaky_relu>, computes, follows},
    {"", "PRelu", infer_prelu, define_prelu, computes, follows},
    {"", "ThresholdedRelu", infer_like_input<Types::floating>, define_unary_formula<thresholded_relu>, unchanged,
     follows},
    {"", "Elu", infer_like_input<Types::floating>, define_unary_formula<elu>, computes, follows},
    {"", "Selu", infer_like_input<Types::floating>, define_unary_formula<selu>, computes, follows},
    {"", "Celu", infer_like_input<Types::floating>, define_unary_formula<celu>, computes, follows},
    {"", "Sigmoid", infer_like_input<Types::floating>, define_unary_formula<sigmoid>, computes, follows},
    {"", "HardSigmoid", infer_like_input<Types::floating>, define_unary_formula<hard_sigmoid>, computes, follows},
    {"", "HardSwish", infer_like_input<Types::floating>, define_unary_formula<hard_swish>, computes, follows},
    {"", "Softplus", infer_like_input<Types::floating>, define_unary_formula<softplus>, computes, follows},
    {"", "Softsign", infer_like_input<Types::floating>, define_unary_formula<softsign>, computes, follows},
    {"", "Swish", infer_like_input<Types::floating>, define_unary_formula<swish>, computes, follows},
    {"", "Mish", infer_like_input<Types::floating>, define_unary_formula<mish>, computes, follows},
    {"", "Gelu", infer_gelu, define_unary_formula<gelu>, computes, follows},
};

}  // namespace

std::span<const OpRow> activation_ops() { return rows; }

}  // namespace onnxc
