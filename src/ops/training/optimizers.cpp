// The optimizers of ai.onnx.preview.training, version 1: one step of Adagrad, Adam or Momentum for several tensors.
//
// Inputs: the learning rate R, the number T of steps before, then all tensors X, all their gradients G, and their
// states; outputs: the new X, then the new states.
#include "ops/elementwise/elementwise.h"
#include "ops/families.h"
#include "support/count_text.h"

namespace onnxc {
namespace {

constexpr size_t first_tensor = 2;

size_t tensor_count(const NodeReader& c, size_t states) {
  const size_t given = c.input_count() - std::min(c.input_count(), first_tensor);
  c.check(given > 0 && given % (2 + states) == 0,
          "{} given after R and T; a tensor, its gradient and {} of its states are expected of each",
          counted_are(given, "input"), states);
  return given / (2 + states);
}

template <size_t states>
void infer_optimizer(InferContext& c) {
  const size_t tensors = tensor_count(c, states);
  c.one_number(0, "R");
  c.one_number(1, "T");
  expect_type(c, 0, Types::floating);
  c.check(c.dtype(1) == DType::int64, "T must be of int64, found {}", info(c.dtype(1)).name);
  expect_one_type(c, Types::floating, first_tensor);
  for (size_t i = 0; i < tensors; ++i) {
    const Shape& x = c.shape(first_tensor + i);
    for (size_t part = 1; part < 2 + states; ++part) {
      const Shape& other = c.shape(first_tensor + part * tensors + i);
      c.check(other.size() == x.size(), "input {} has shape {}, and its tensor {}", first_tensor + part * tensors + i,
              short_text(other), short_text(x));
      for (size_t axis = 0; axis < x.size(); ++axis)
        c.same(other[axis], x[axis], fmt::format("dim {} of input {}", axis, first_tensor + part * tensors + i));
    }
    for (size_t part = 0; part < 1 + states; ++part) c.output(part * tensors + i, c.dtype(first_tensor + i), x);
  }
}

// One element: what it was, and what the attributes say.
struct Element {
  const NodeReader& node;
  Scalar rate;   // R, in the type of the element
  Scalar steps;  // T, in float64: one minus a power of a number near 1 would lose its digits
  Scalar x, gradient;
  std::vector<Scalar> states;

  Scalar attribute(std::string_view name, float otherwise) const {
    return number(x, static_cast<double>(node.real(name, otherwise)));
  }
  Scalar regularized() const { return attribute("norm_coefficient", 0) * x + gradient; }
  Scalar one() const { return number(x, 1); }
  Scalar is_first() const { return scalar::binary(ScalarOp::less_or_equal, steps, number(steps, 0)); }
};

// The new x and the new states.
using Update = std::vector<Scalar> (*)(const Element&);

template <size_t states, Update update>
void define_optimizer(DefineContext& c) {
  const size_t tensors = tensor_count(c, states);
  auto only = [&](size_t i, DType dtype) {
    const Operand operand = c.in(i);
    return scalar::cast(dtype, operand.compute(std::vector<Expr>(operand.rank(), 0)));
  };
  for (size_t i = 0; i < tensors; ++i) {
    const Operand x = c.in(first_tensor + i);
    NestBuilder nest(c.node().origin.type);
    const std::vector<Expr> at = nest.parallel(x.shape);
    auto part = [&](size_t index) { return c.in(first_tensor + index * tensors + i).compute(at); };
    const DType dtype = info(x.dtype).compute;
    Element element{c, only(0, dtype), only(1, DType::float64), part(0), part(1), {}};
    for (size_t state = 0; state < states; ++state) element.states.push_back(part(2 + state));
    const std::vector<Scalar> results = update(element);
    for (size_t k = 0; k < results.size(); ++k)
      if (c.has_output(k * tensors + i)) nest.store(c.out(k * tensors + i), at, results[k]);
    c.emit(std::move(nest));
  }
}

std::vector<Scalar> adagrad(const Element& e) {
  const Scalar rate = e.rate / (e.one() + scalar::cast(e.rate.dtype(), e.steps) * e.attribute("decay_factor", 0));
  const Scalar gradient = e.regularized(), squares = e.states[0] + gradient * gradient;
  return {e.x - rate * gradient / (square_root(squares) + e.attribute("epsilon", 1e-6F)), squares};
}

std::vector<Scalar> adam(const Element& e) {
  const Scalar alpha = e.attribute("alpha", 0.9F), beta = e.attribute("beta", 0.999F);
  const Scalar gradient = e.regularized();
  const Scalar momentum = alpha * e.states[0] + (e.one() - alpha) * gradient;
  const Scalar squares = beta * e.states[1] + (e.one() - beta) * gradient * gradient;
  auto one_minus_power = [&](std::string_view name, float otherwise) {
    const Scalar base = number(e.steps, static_cast<double>(e.node.real(name, otherwise)));
    return number(e.steps, 1) - scalar::binary(ScalarOp::power, base, e.steps);
  };
  const Scalar correction = square_root(one_minus_power("beta", 0.999F)) / one_minus_power("alpha", 0.9F);
  const Scalar corrected = e.rate * scalar::cast(e.rate.dtype(), correction);
  const Scalar rate = scalar::select(e.is_first(), e.rate, corrected);
  const Scalar x = e.x - rate * momentum / (square_root(squares) + e.attribute("epsilon", 1e-6F));
  return {(e.one() - e.attribute("norm_coefficient_post", 0)) * x, momentum, squares};
}

std::vector<Scalar> momentum(const Element& e) {
  const std::string mode = e.node.text("mode", "");
  e.node.check(mode == "standard" || mode == "nesterov", "mode '{}' is neither standard nor nesterov", mode);
  const Scalar alpha = e.attribute("alpha", 0), gradient = e.regularized();
  const Scalar beta = scalar::select(e.is_first(), e.one(), e.attribute("beta", 0));
  const Scalar velocity = alpha * e.states[0] + beta * gradient;
  return {e.x - e.rate * (mode == "nesterov" ? gradient + alpha * velocity : velocity), velocity};
}

constexpr std::string_view domain = "ai.onnx.preview.training";

using enum StorageRule;

constexpr OpRow rows[] = {
    {domain, "Adagrad", infer_optimizer<1>, define_optimizer<1, adagrad>, unchanged},
    {domain, "Adam", infer_optimizer<2>, define_optimizer<2, adam>, unchanged},
    {domain, "Momentum", infer_optimizer<1>, define_optimizer<1, momentum>, unchanged},
};

}  // namespace

std::span<const OpRow> optimizer_ops() { return rows; }

}  // namespace onnxc
