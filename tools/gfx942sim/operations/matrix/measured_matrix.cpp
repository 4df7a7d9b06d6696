#include "gfx942sim/operations/matrix/measured_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "support/diagnostics.h"

namespace gfx942sim {
namespace {

constexpr int factor_bits = 10;                  // after the point of a factor
constexpr int product_bits = 24, sum_bits = 31;  // after the point of the largest product; of the sum
constexpr int exponent_of_zero = -999;
constexpr int least_float_exponent = -126;

// A number of `significand` units, which is 2^(exponent - bits).
struct Scaled {
  int64_t significand;
  int exponent;
};

Scaled scaled(float value, int least_exponent, int bits) {
  if (value == 0 || !std::isfinite(value)) return {0, least_exponent};
  const int exponent = std::max(std::ilogb(value), least_exponent);
  return {static_cast<int64_t>(std::ldexp(static_cast<double>(value), bits - exponent)), exponent};
}

// Towards minus infinity.
int64_t shifted_down(int64_t value, int places) { return value >> std::clamp(places, 0, 63); }

// Products in fixed point: `units` of 2^(exponent - product_bits).
struct FixedSum {
  int64_t units = 0;
  int exponent = exponent_of_zero;
};

// The sum of a group's products and of what was there before, rounded to float.
float rounded_sum(const FixedSum& products, float addend, bool drops_small_addend) {
  const Scaled before = scaled(addend, least_float_exponent, 23);
  const int exponent = std::max(products.exponent, before.exponent);
  constexpr int more = 8;  // bits that a sum has beyond those of a product
  int64_t sum = shifted_down(products.units << more, exponent - products.exponent);
  if (!drops_small_addend || before.exponent >= exponent - product_bits - 1)
    sum += shifted_down(before.significand << 1, exponent - before.exponent) << more;
  if (sum == 0) return 0.0F;
  // Its own exponent, and what is cut below its last bit.
  const auto magnitude = static_cast<uint64_t>(std::abs(sum));
  const int unit = exponent - product_bits - more;
  const int own = std::max(unit + static_cast<int>(std::bit_width(magnitude)) - 1, least_float_exponent);
  const int cut = std::max(own - sum_bits - unit, 0);
  return static_cast<float>(std::ldexp(static_cast<double>(shifted_down(sum, cut)), unit + cut));
}

FixedSum sum_of(const FixedSum& a, const FixedSum& b) {
  const int exponent = std::max(a.exponent, b.exponent);
  return {shifted_down(a.units, exponent - a.exponent) + shifted_down(b.units, exponent - b.exponent), exponent};
}

}  // namespace

MatrixArithmetic matrix_arithmetic_from_environment() {
  const char* const text = std::getenv("GFX942SIM_MATRIX");
  const std::string_view value = text == nullptr ? "" : text;
  onnxc::user_check(value.empty() || value == "measured",
                    "GFX942SIM_MATRIX is '{}'; known is measured, and chains of float32 without it", value);
  return value.empty() ? MatrixArithmetic::chains : MatrixArithmetic::measured;
}

MeasuredProduct::Factors::Factors(const float* of, MeasuredFormat format, int count) : values(of) {
  for (int i = 0; i < count; ++i) {
    const Scaled factor = scaled(of[i], format.least_exponent, factor_bits);
    significands[i] = static_cast<int32_t>(factor.significand);
    exponents[i] = factor.exponent;
  }
}

MeasuredProduct::MeasuredProduct(Shape shape, MeasuredGroups groups, const float* a, MeasuredFormat format_a,
                                 const float* b, MeasuredFormat format_b, int count)
    : shape_(shape), groups_(groups), a_(a, format_a, count), b_(b, format_b, count) {}

void MeasuredProduct::add_row(float* sums, int block, int row) const {
  const int first = block * shape_.depth * shape_.size, depth = std::min(groups_.depth, shape_.depth);
  for (int k = 0; k < shape_.depth; k += depth)
    add_group(sums, first + k * shape_.size + row, first + k * shape_.size, depth);
}

// The products of a group, k by k: in units of 2^(exponent - 20), and the largest exponents of the halves, or of all.
struct MeasuredProduct::Terms {
  int32_t products[deepest_group][most_columns], exponents[deepest_group][most_columns];
  int32_t largest[2][most_columns];
  float specials[most_columns];  // zero if every term of the sum is a finite number

  // Cut to 24 bits after the point of the largest, and added.
  void add(int32_t (&units)[2][most_columns], int depth, int halves, int size) const {
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < size; ++j) {
        const int32_t places = std::min(largest[k % halves][j] - exponents[k][j], 31);
        const int32_t magnitude = std::abs(products[k][j]) << (product_bits - 2 * factor_bits) >> places;
        units[k % halves][j] += products[k][j] < 0 ? -magnitude : magnitude;
      }
  }
};

void MeasuredProduct::multiply(Terms& terms, int first_a, int first_b, int depth, int halves) const {
  const int size = shape_.size;
  std::fill_n(&terms.largest[0][0], 2 * most_columns, exponent_of_zero);
  for (int k = 0; k < depth; ++k) {
    const int at = first_a + k * size;
    const int32_t significand = a_.significands[at], exponent = a_.exponents[at];
    const float value = a_.values[at];
    int32_t* const largest = terms.largest[k % halves];
    for (int j = 0; j < size; ++j) {
      const int from = first_b + k * size + j;
      const int32_t product = significand * b_.significands[from];
      terms.products[k][j] = product;
      terms.exponents[k][j] = product == 0 ? exponent_of_zero : exponent + b_.exponents[from];
      largest[j] = std::max(largest[j], terms.exponents[k][j]);
      terms.specials[j] += value * b_.values[from] * 0.0F;
    }
  }
}

// With an infinity or NaN among what is added.
float MeasuredProduct::special_sum(float addend, int first_a, int first_b, int depth) const {
  double sum = addend;
  for (int k = 0; k < depth; ++k) sum += a_.values[first_a + k * shape_.size] * b_.values[first_b + k * shape_.size];
  return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffU) : static_cast<float>(sum);
}

void MeasuredProduct::add_group(float* sums, int first_a, int first_b, int depth) const {
  const int size = shape_.size, halves = groups_.is_in_halves ? 2 : 1;
  Terms terms;
  for (int j = 0; j < size; ++j) terms.specials[j] = sums[j] * 0.0F;
  multiply(terms, first_a, first_b, depth, halves);
  int32_t units[2][most_columns] = {};
  terms.add(units, depth, halves, size);
  for (int j = 0; j < size; ++j) {
    const FixedSum first{units[0][j], terms.largest[0][j]}, second{units[1][j], terms.largest[1][j]};
    sums[j] = terms.specials[j] != 0
                  ? special_sum(sums[j], first_a, first_b + j, depth)
                  : rounded_sum(halves == 2 ? sum_of(first, second) : first, sums[j], groups_.is_in_halves);
  }
}

}  // namespace gfx942sim
