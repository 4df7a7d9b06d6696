#include "ops/signal/dft_spec.h"

#include <algorithm>

#include "ops/elementwise/elementwise.h"

namespace onnxc {
namespace {

// 1 if a is less than b, else 0.
Expr one_if_less(const Expr& a, const Expr& b) { return max(min(b - a, 1), 0); }

// The product of the dims whose `counts` is 1.
template <class Counts>
Expr product_of_axes(const DftSpec& spec, const Counts& counts) {
  const Expr axis = spec.axis + one_if_less(spec.axis, 0) * std::ssize(spec.input);
  Expr result = 1;
  for (size_t i = 0; i + 1 < spec.rank(); ++i)
    result *= 1 + counts(Expr(static_cast<int64_t>(i)), axis) * (spec.input[i] - 1);
  return result;
}

}  // namespace

Expr given_number(const NodeReader& c, size_t input, std::string_view role) {
  const std::vector<Expr> given = c.needed_elements(input, role);
  c.check(given.size() == 1, "one number is expected as {}, found {}", role, given.size());
  return given.front();
}

DftSpec resolve_dft(const NodeReader& c, const std::function<Expr()>& extent_at_run_time) {
  const Shape& x = c.shape(0);
  const auto rank = static_cast<int64_t>(x.size());
  c.check(rank >= 2, "signals and an axis of their real and imaginary parts are expected, found {}", short_text(x));
  Expr axis = c.version() < 20 ? c.integer("axis", 1) : -2;
  if (c.version() >= 20 && c.has_input(2)) axis = given_number(c, 2, "axis");
  DftSpec spec{x, axis, {}, {}, c.integer("inverse", 0) != 0, c.integer("onesided", 0) != 0};
  if (std::optional<int64_t> known = axis.constant()) {
    c.check(*known >= -rank && *known <= rank - 2 && *known != -1, "axis {} of a tensor of rank {} with its parts last",
            *known, rank);
    spec.axis = *known < 0 ? *known + rank : *known;
    spec.extent = x.at(static_cast<size_t>(*spec.axis.constant()));
  } else {
    spec.extent = extent_at_run_time();
  }
  spec.length = c.has_input(1)      ? given_number(c, 1, "dft_length")
                : spec.gives_real() ? 2 * (spec.extent - 1)
                                    : spec.extent;
  return spec;
}

Scalar DftSpec::is(size_t i) const {
  const auto from_first = static_cast<int64_t>(i);
  auto is_axis = [&](int64_t place) { return equal(scalar::index(axis), scalar::index(place)); };
  return any_of(is_axis(from_first), is_axis(from_first - std::ssize(input)));
}

Expr DftSpec::outer() const {
  return product_of_axes(*this, [](const Expr& i, const Expr& chosen) { return one_if_less(i, chosen); });
}

Expr DftSpec::inner() const {
  return product_of_axes(*this, [](const Expr& i, const Expr& chosen) { return one_if_less(chosen, i); });
}

bool is_dft(const Node& node) { return node.origin.domain == internal_domain && node.origin.type == "DFT"; }

DftSpec resolve_dft(const NodeReader& node) {
  return resolve_dft(node, [&]() -> Expr {
    const Shape& y = *node.node().outputs[0]->shape;
    for (const Symbol& symbol : node.node().bound_symbols)
      if (std::ranges::find(y, Expr(symbol)) == y.end()) return symbol;
    internal_error("a symbol for the extent");
  });
}

// The extent is -1, which the binding refuses, if there is no such axis.
void bind_dft(DefineContext& c, const DftSpec& spec) {
  if (spec.has_known_axis()) return;
  const Shape &x = spec.input, &y = *c.node().outputs[0]->shape;
  Scalar extent = scalar::index(-1);
  for (size_t i = 0; i + 1 < spec.rank(); ++i) extent = scalar::select(spec.is(i), scalar::index(x[i]), extent);
  c.bind({spec.extent}, {extent});
  std::vector<Scalar> dims;
  for (size_t i = 0; i + 1 < spec.rank(); ++i)
    dims.push_back(scalar::select(spec.is(i), scalar::index(spec.output_extent()), scalar::index(x[i])));
  c.bind(Shape(y.begin(), y.end() - 1), dims);
}

}  // namespace onnxc
