#include "ops/network/interpolation.h"

#include "ops/elementwise/elementwise.h"

namespace onnxc {

Scalar CubicKernel::near(const Scalar& d) const {
  return ((number(d, a + 2) * d - number(d, a + 3)) * d) * d + number(d, 1);
}

Scalar CubicKernel::far(const Scalar& d) const {
  return ((number(d, a) * d - number(d, 5 * a)) * d + number(d, 8 * a)) * d - number(d, 4 * a);
}

std::vector<Scalar> CubicKernel::weights(const Scalar& fraction) const {
  const Scalar one = number(fraction, 1);
  return {far(fraction + one), near(fraction), near(one - fraction), far(number(fraction, 2) - fraction)};
}

namespace {

Scalar sum_from_axis(const std::vector<std::vector<Tap>>& taps, std::vector<Expr>& indices, const Scalar& inside,
                     const std::function<Scalar(const std::vector<Expr>&)>& element) {
  if (indices.size() == taps.size()) {
    const Scalar value = element(indices);
    return inside ? scalar::select(inside, value, number(value, 0)) : value;
  }
  Scalar sum;
  for (const Tap& tap : taps[indices.size()]) {
    indices.push_back(tap.index);
    Scalar value = sum_from_axis(taps, indices, both(inside, tap.inside), element);
    indices.pop_back();
    if (tap.weight) value = value * scalar::cast(value.dtype(), tap.weight);
    sum = sum ? sum + value : value;
  }
  return sum;
}

}  // namespace

Scalar weighted_sum(const std::vector<std::vector<Tap>>& taps,
                    const std::function<Scalar(const std::vector<Expr>& indices)>& element) {
  std::vector<Expr> indices;
  return sum_from_axis(taps, indices, {}, element);
}

Scalar interpolated_element(const Operand& x, const std::vector<Expr>& indices) {
  return is_floating(x.dtype) ? x.compute(indices) : scalar::cast(DType::float32, x(indices));
}

}  // namespace onnxc
