// Means and variances, for the normalisations.
//
// They are float32 (float64 for float64 inputs) whatever the storage type, and take two passes: the mean, then the mean
// of the differences from it and of their squares. So half types do not overflow, and a mean that is large against the
// deviation costs no digits.
#pragma once

#include <limits>
#include <string>

#include "ops/axes.h"
#include "ops/elementwise/elementwise.h"

namespace onnxc {

using Indices = std::vector<Expr>;

inline DType compute_type(const NodeReader& node) { return info(node.dtype(0)).compute; }

// An element of a scale or shift, in the type of the statistics; models mix half inputs with float32 scales.
inline Scalar parameter(const DefineContext& c, const Operand& operand, Indices indices) {
  return scalar::cast(compute_type(c), operand(std::move(indices)));
}

// kept[...] = finish(mean of element(kept, folded) over the folded axes)
template <class Element, class Finish>
Operand mean_of(DefineContext& c, const std::string& role, const Shape& kept_shape, const Shape& folded_shape,
                const Element& element, const Finish& finish) {
  Operand result = c.temporary(role, compute_type(c), kept_shape);
  NestBuilder nest(role);
  Indices kept = nest.parallel(kept_shape);
  Indices folded = nest.reduce(folded_shape);
  Scalar sum = nest.accumulate(ReduceKind::sum, element(kept, folded));
  nest.store(result, kept, finish(sum / scalar::cast(sum.dtype(), scalar::index(product(folded_shape)))));
  c.emit(std::move(nest));
  return result;
}

inline double largest_finite(DType dtype) {
  return dtype == DType::float64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

// Mean and population variance. `residue` is the mean of what is left once the rounded mean is subtracted, and
// `mean_square` the mean of its squares. Taking the residue off as well undoes the rounding of the mean and of the sum
// that it came from.
struct Moments {
  Operand mean, residue, mean_square;

  Scalar centered(const Scalar& x, const Indices& kept) const { return (x - mean(kept)) - residue(kept); }
  // The residue is next to nothing, so nothing cancels. For values near 1e30 both squares overflow, and so must the
  // variance: infinity less infinity would be NaN.
  Scalar variance(const Indices& kept) const {
    const Scalar square = residue(kept) * residue(kept);
    return mean_square(kept) - minimum(square, number(square, largest_finite(square.dtype())));
  }
};

// The moments of x over the folded axes. `combine` makes of a tensor of means, one for each combination of the kept
// axes, the means that are wanted there: of groups of them, say.
template <class Combine>
Moments moments(DefineContext& c, const Operand& x, const FoldedAxes& axes, const Combine& combine) {
  auto element = [&](const Indices& kept, const Indices& folded) { return x.compute(axes.join(kept, folded)); };
  auto unchanged = [](const Scalar& value) { return value; };
  Operand mean = combine(mean_of(c, "mean", axes.kept_shape(), axes.folded_shape(), element, unchanged));
  Operand residue = c.temporary("residue", mean.dtype, axes.kept_shape());
  Operand mean_square = c.temporary("mean_square", mean.dtype, axes.kept_shape());
  NestBuilder nest("variance");
  Indices kept = nest.parallel(axes.kept_shape());
  Indices folded = nest.reduce(axes.folded_shape());
  Scalar difference = element(kept, folded) - mean(kept);
  Scalar count = scalar::cast(mean.dtype, scalar::index(product(axes.folded_shape())));
  nest.store(residue, kept, nest.accumulate(ReduceKind::sum, difference) / count);
  nest.store(mean_square, kept, nest.accumulate(ReduceKind::sum, difference * difference) / count);
  c.emit(std::move(nest));
  return {mean, combine(residue), combine(mean_square)};
}

inline Moments moments(DefineContext& c, const Operand& x, const FoldedAxes& axes) {
  return moments(c, x, axes, [](const Operand& means) { return means; });
}

inline Scalar inverse_deviation(const Scalar& variance, double epsilon) {
  return number(variance, 1) / square_root(variance + number(variance, epsilon));
}

// Input 0 is [N, C, ...].
inline void expect_channels(const NodeReader& node) {
  expect_type(node, 0, Types::floating);
  node.check(node.rank(0) >= 2, "input 0 must be of rank 2 or more, [N, C, ...], found {}", short_text(node.shape(0)));
}

}  // namespace onnxc
