// Interpolation between the elements of a tensor: what Resize, GridSample and their like have in common.
#pragma once

#include <functional>
#include <vector>

#include "ops/nest_builder.h"

namespace onnxc {

// An element of the input along one axis, of those that an element of the output is made of.
struct Tap {
  Expr index;
  Scalar weight = {};  // empty means 1
  Scalar inside = {};  // what is outside counts as 0; empty means inside
};

// Keys' cubic convolution with coefficient a ("Cubic Convolution Interpolation for Digital Image Processing", 1981), at
// distance d: `near` up to 1, `far` from there to 2.
struct CubicKernel {
  double a;

  Scalar near(const Scalar& d) const;
  Scalar far(const Scalar& d) const;
  // For the elements at -1, 0, 1 and 2 from the one below a place, which is `fraction` beyond that.
  std::vector<Scalar> weights(const Scalar& fraction) const;
};

// The sum over the taps of every axis, the last axis innermost. element(indices) gives a value of floating type, or of
// any type if no tap has a weight.
Scalar weighted_sum(const std::vector<std::vector<Tap>>& taps,
                    const std::function<Scalar(const std::vector<Expr>& indices)>& element);

// The element as interpolation needs it: integers in float32, to be truncated afterwards as onnxruntime does.
Scalar interpolated_element(const Operand& x, const std::vector<Expr>& indices);

// The nearest index of an axis that holds something.
inline Expr clamped(const Expr& index, const Expr& extent) { return max(min(index, extent - 1), 0); }

}  // namespace onnxc
