#include "gfx942sim/operations/measured_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "support/diagnostics.h"

namespace gfx942sim {
namespace {

constexpr int factor_bits = 10;                  // behind the point of a factor
constexpr int product_bits = 24, sum_bits = 31;  // behind the point of the largest product; of the sum
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

// A sum with an infinity or NaN in it.
float special_sum(double sum) { return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffU) : static_cast<float>(sum); }

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

void MeasuredProduct::add_group(float* sums, int first_a, int first_b, int depth) const {
  const int size = shape_.size, halves = groups_.is_in_halves ? 2 : 1;
  // Of each column: products of 20 bits behind the point, the largest exponents of the halves, and a sum that is not a
  // finite number only where one of its terms is none.
  int32_t products[deepest_group][most_columns], exponents[deepest_group][most_columns];
  int32_t largest[2][most_columns], units[2][most_columns] = {};
  float specials[most_columns];
  std::fill_n(&largest[0][0], 2 * most_columns, exponent_of_zero);
  for (int j = 0; j < size; ++j) specials[j] = sums[j] * 0.0F;
  for (int k = 0; k < depth; ++k) {
    const int at = first_a + k * size;
    const int32_t significand = a_.significands[at], exponent = a_.exponents[at];
    const float value = a_.values[at];
    for (int j = 0; j < size; ++j) {
      const int from = first_b + k * size + j;
      products[k][j] = significand * b_.significands[from];
      exponents[k][j] = products[k][j] == 0 ? exponent_of_zero : exponent + b_.exponents[from];
      largest[k % halves][j] = std::max(largest[k % halves][j], exponents[k][j]);
      specials[j] += value * b_.values[from] * 0.0F;
    }
  }
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < size; ++j) {
      const int32_t places = std::min(largest[k % halves][j] - exponents[k][j], 31);
      const int32_t magnitude = std::abs(products[k][j]) << (product_bits - 2 * factor_bits) >> places;
      units[k % halves][j] += products[k][j] < 0 ? -magnitude : magnitude;
    }
  for (int j = 0; j < size; ++j) {
    if (specials[j] != 0) {
      double sum = sums[j];
      for (int k = 0; k < depth; ++k) sum += a_.values[first_a + k * size] * b_.values[first_b + k * size + j];
      sums[j] = special_sum(sum);
      continue;
    }
    FixedSum sum{units[0][j], largest[0][j]};
    if (halves == 2) {
      const FixedSum odd{units[1][j], largest[1][j]};
      const int exponent = std::max(sum.exponent, odd.exponent);
      sum = {shifted_down(sum.units, exponent - sum.exponent) + shifted_down(odd.units, exponent - odd.exponent),
             exponent};
    }
    sums[j] = rounded_sum(sum, sums[j], halves == 2);
  }
}

}  // namespace gfx942sim
