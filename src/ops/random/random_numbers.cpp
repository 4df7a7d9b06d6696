#include "ops/random/random_numbers.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "ir/random_symbols.h"
#include "ops/elementwise/elementwise.h"

namespace onnxc {
namespace {

Scalar constant(uint64_t value) { return scalar::integer_constant(DType::uint64, static_cast<int64_t>(value)); }
Scalar bits(const Scalar& counter, const Scalar& key) { return scalar::binary(ScalarOp::random_bits, counter, key); }
Scalar unsigned_index(const Expr& expr) { return scalar::cast(DType::uint64, scalar::index(expr)); }

// Attribute 'seed', an integer for Dropout and a float for the others.
Scalar seed_of(const NodeReader& node) {
  const Attribute* given = node.node().find_attribute("seed");
  if (given == nullptr) return unsigned_index(run_seed());
  if (std::holds_alternative<int64_t>(*given)) return constant(static_cast<uint64_t>(node.integer("seed")));
  return constant(std::bit_cast<uint32_t>(node.real("seed", 0)));
}

// The highest bits as a number in [0, 1), or in (0, 1) if each stands for the middle of those that it begins.
Scalar fraction(DType dtype, const Scalar& random, int digits, double shift = 0) {
  // Numbers that fit into 31 bits are converted by an instruction of vectors.
  const DType whole = digits < 32 ? DType::int32 : DType::int64;
  const Scalar highest =
      scalar::cast(whole, scalar::binary(ScalarOp::shift_right, random, constant(static_cast<uint64_t>(64 - digits))));
  const Scalar number = scalar::cast(dtype, highest) * scalar::constant(dtype, std::exp2(-digits));
  return shift == 0 ? number : number + scalar::constant(dtype, shift * std::exp2(-digits));
}

}  // namespace

int significant_bits(DType dtype) {
  return dtype == DType::float64 ? 53 : dtype == DType::float16 ? 11 : dtype == DType::bfloat16 ? 8 : 24;
}

Expr place_of(const Shape& shape, const std::vector<Expr>& indices) {
  Expr place = 0;
  for (size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + indices[i];
  return place;
}

RandomNumbers::RandomNumbers(const NodeReader& node) {
  internal_check(node.node().random_stream.has_value(), "a node that draws random numbers");
  const Scalar stream = bits(constant(*node.node().random_stream), seed_of(node));
  key_ = bits(unsigned_index(run_pass()), stream);
}

Scalar RandomNumbers::uniform(DType dtype, const Expr& place, int digits) const {
  return fraction(dtype, bits(unsigned_index(place), key_), digits);
}

Scalar RandomNumbers::uniform(DType dtype, const Expr& place) const {
  return uniform(dtype, place, significant_bits(dtype));
}

// G. Box, M. Muller, "A note on the generation of random normal deviates", 1958: the radius from one number, the angle
// from another. The radius has 31 bits in float32, so that no number is beyond 6.7; in float64 53, and 8.6.
Scalar RandomNumbers::normal(DType dtype, const Expr& place) const {
  Scalar radius, angle;
  if (dtype == DType::float64) {
    const Scalar other_key = scalar::binary(ScalarOp::bitwise_xor, key_, constant(1));
    radius = fraction(dtype, bits(unsigned_index(place), key_), 53, 0.5);
    angle = fraction(dtype, bits(unsigned_index(place), other_key), 53);
  } else {
    const Scalar both = bits(unsigned_index(place), key_);
    radius = fraction(dtype, both, 31, 0.5);
    angle = fraction(dtype, scalar::binary(ScalarOp::shift_left, both, constant(40)), 24);
  }
  const Scalar length = square_root(logarithm(radius) * number(radius, -2));
  return length * scalar::unary(ScalarOp::cosine, angle * number(angle, 2 * std::numbers::pi));
}

}  // namespace onnxc
