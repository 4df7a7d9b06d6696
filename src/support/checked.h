// Integer arithmetic on sizes that refuses to wrap: every product or sum of dims goes through here.
#pragma once

#include <cstdint>
#include <span>

#include "support/diagnostics.h"

namespace onnxc {

[[nodiscard]] inline int64_t checked_add(int64_t a, int64_t b) {
  int64_t result;
  user_check(!__builtin_add_overflow(a, b, &result), "the size {} + {} does not fit in 64 bits", a, b);
  return result;
}

[[nodiscard]] inline int64_t checked_subtract(int64_t a, int64_t b) {
  int64_t result;
  user_check(!__builtin_sub_overflow(a, b, &result), "the size {} - {} does not fit in 64 bits", a, b);
  return result;
}

[[nodiscard]] inline int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t result;
  user_check(!__builtin_mul_overflow(a, b, &result), "the size {} * {} does not fit in 64 bits", a, b);
  return result;
}

// The number of elements of a tensor with these dims; 1 for a scalar.
[[nodiscard]] inline int64_t checked_product(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims)
    if (dim == 0) return 0;
  for (int64_t dim : dims) product = checked_multiply(product, dim);
  return product;
}

// Division that rounds towards minus infinity, and its remainder, which has the divisor's sign (Python's // and %).
[[nodiscard]] inline int64_t floor_divide(int64_t a, int64_t b) {
  user_check(b != 0, "division of the size {} by zero", a);
  int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

[[nodiscard]] inline int64_t floor_modulo(int64_t a, int64_t b) { return a - floor_divide(a, b) * b; }

}  // namespace onnxc
