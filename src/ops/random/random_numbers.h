// The random numbers of a node, which Random*, Bernoulli, Multinomial and Dropout share.
//
// Each is a function of a seed, the node, the place of its element and the round of a loop. So it is the same for any
// number of threads, any fusion and either target, but for the last bits of a logarithm and a cosine. With attribute
// 'seed' it is the same in each run; without it, each run has a seed of its own (ir/random_symbols.h).
#pragma once

#include <vector>

#include "ops/define_context.h"

namespace onnxc {

class RandomNumbers {
 public:
  // For a node whose rule has called InferContext::draws_random_numbers.
  explicit RandomNumbers(const NodeReader& node);

  // In [0, 1), of a type that arithmetic is done in: a multiple of 2^-digits. `place` counts the node's numbers.
  Scalar uniform(DType dtype, const Expr& place, int digits) const;
  // With as many digits as the type has.
  Scalar uniform(DType dtype, const Expr& place) const;
  // Normal with mean 0 and variance 1, in float32 or float64.
  Scalar normal(DType dtype, const Expr& place) const;

 private:
  Scalar key_;
};

// The place of an element in row-major order.
Expr place_of(const Shape& shape, const std::vector<Expr>& indices);

// The bits of a type's significand, the leading one included.
int significant_bits(DType dtype);

}  // namespace onnxc
