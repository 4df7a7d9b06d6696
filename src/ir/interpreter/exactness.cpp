#include "ir/interpreter/exactness.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace onnxc {
namespace {

// Bits of the significand of the type that arithmetic on a floating type is done in, or that it is stored in.
int significand_bits(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return 53;
    case DType::float32:
      return 24;
    case DType::float16:
      return 11;
    case DType::bfloat16:
      return 8;
    default:
      return 0;
  }
}

double magnitude(const Expr& expr);

double magnitude(const AtomNode& atom) {
  constexpr double unbounded = std::numeric_limits<double>::infinity(), largest_size = maximum_symbolic_size;
  const Bounds& bounds = atom.bounds;
  if (bounds.minimum != Bounds::minus_infinity && bounds.maximum != Bounds::infinity)
    return std::max(std::fabs(static_cast<double>(bounds.minimum)), std::fabs(static_cast<double>(bounds.maximum)));
  double largest = 0;
  for (const Expr& operand : atom.operands) largest = std::max(largest, magnitude(operand));
  switch (atom.kind) {
    case AtomKind::symbol:  // a number that a tensor holds may be any
      if (bounds.minimum == Bounds::minus_infinity) return unbounded;
      return atom.symbol->info().division ? largest_size / static_cast<double>(atom.symbol->info().division->divisor)
                                          : largest_size;
    case AtomKind::floor_div: {
      const auto divisor = static_cast<double>(atom.operands[1].constant().value_or(1));
      return std::ceil(magnitude(atom.operands[0]) / std::max(std::fabs(divisor), 1.0));
    }
    case AtomKind::mod:
      return magnitude(atom.operands[1]);
    case AtomKind::min:
    case AtomKind::max:
      return largest;
  }
  return unbounded;
}

// Bounds of the absolute value, if each size is at most maximum_symbolic_size.
double magnitude(const Term& term) {
  double product = std::fabs(static_cast<double>(term.coefficient));
  for (const Atom& factor : term.factors) product *= magnitude(*factor);
  return product;
}

double magnitude(const Expr& expr) {
  double sum = 0;
  for (const Term& term : expr.terms()) sum += magnitude(term);
  return sum;
}

bool has_power(const Term& term) {
  const auto same = [](const Atom& a, const Atom& b) {
    return Expr::from_terms({{1, {a}}}) == Expr::from_terms({{1, {b}}});
  };
  return std::ranges::adjacent_find(term.factors, same) != term.factors.end();
}

}  // namespace

bool is_power_of_two(int64_t value) { return std::has_single_bit(static_cast<uint64_t>(value)); }

int64_t common_coefficient(const Expr& expr) {
  int64_t divisor = 0;
  for (const Term& term : expr.terms()) divisor = std::gcd(divisor, term.coefficient);
  return divisor;
}

bool is_exact(DType dtype, const SymbolicNumber& a) {
  if (!is_power_of_two(a.denominator)) return false;
  const int64_t common = common_coefficient(a.numerator);
  const auto factor = static_cast<double>(common == 0 ? 1 : common & -common);
  constexpr double largest_float16 = 65504;
  const double largest = magnitude(a.numerator);
  if (dtype == DType::float16 && !(largest <= largest_float16)) return false;
  return largest / factor <= std::ldexp(1.0, significand_bits(dtype));
}

bool is_quotient(DType dtype, const SymbolicNumber& a) {
  return magnitude(a.numerator) <= std::ldexp(1.0, significand_bits(dtype));
}

bool is_within_integer(DType dtype, const SymbolicNumber& a) {
  const bool is_short = dtype == DType::int32;
  const int64_t largest_factor = is_short ? int64_t{1} << 12 : int64_t{1} << 30, largest_number = int64_t{1} << 30;
  const double largest = is_short ? 0x1p31 : 0x1p63;
  return std::ranges::all_of(a.numerator.terms(), [&](const Term& term) {
    const int64_t most = term.factors.empty() ? largest_number : largest_factor;
    if (term.coefficient > most || term.coefficient < -most) return false;
    return !has_power(term) || magnitude(term) < largest;
  });
}

}  // namespace onnxc
