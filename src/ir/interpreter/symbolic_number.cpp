#include "ir/interpreter/symbolic_number.h"

#include <cmath>
#include <numeric>

#include "support/checked.h"

namespace onnxc {
namespace {

using Result = std::optional<SymbolicNumber>;

SymbolicNumber whole(Expr value) { return {std::move(value), 1}; }
SymbolicNumber boolean(bool value) { return whole(value ? 1 : 0); }

// In lowest terms.
SymbolicNumber fraction(const Expr& numerator, int64_t denominator) {
  int64_t divisor = denominator;
  for (const Term& term : numerator.terms()) divisor = std::gcd(divisor, term.coefficient);
  return divisor == 1 ? SymbolicNumber{numerator, denominator}
                      : SymbolicNumber{floor_div(numerator, divisor), denominator / divisor};
}

// Reals whose numerator could leave the range in which floats are exact are given up.
constexpr int64_t maximum_denominator = 1024;

// The dtypes whose arithmetic on dims does not wrap in practice.
bool is_signed_integer(DType dtype) { return dtype == DType::int64 || dtype == DType::int32; }

// The truncating quotient; 0 where b is 0, as at run time.
std::optional<Expr> divide_integers(const Expr& a, const Expr& b) {
  if (!proven_different(b, 0)) {
    if (!proven_at_least(b, 0)) return std::nullopt;
    if (const std::optional<Expr> quotient = exact_quotient(a, b)) return *quotient * min(b, 1);
    return proven_at_least(a, 0) ? std::optional(floor_div(a, max(b, 1)) * min(b, 1)) : std::nullopt;
  }
  Expr quotient = floor_div(a, b);
  const bool neither_negative = proven_at_least(a, 0) && proven_at_least(b, 1);
  if (!neither_negative && !proven_equal(quotient * b, a)) return std::nullopt;
  return quotient;
}

// The remainder with the divisor's sign; 0 where b is 0, as at run time.
std::optional<Expr> remainder_of_integers(const Expr& a, const Expr& b) {
  if (proven_at_least(b, 1)) return mod(a, b);
  return proven_at_least(b, 0) ? std::optional(mod(a, max(b, 1))) : std::nullopt;
}

Result whole_if(const std::optional<Expr>& value) { return value ? Result(whole(*value)) : std::nullopt; }

Result divide_reals(const SymbolicNumber& a, const SymbolicNumber& b) {
  Expr dividend = a.numerator * b.denominator, divisor = b.numerator * a.denominator;
  if (std::optional<int64_t> constant = divisor.constant()) {
    if (*constant == 0) return std::nullopt;
    return *constant > 0 ? fraction(dividend, *constant) : fraction(-dividend, checked_subtract(0, *constant));
  }
  if (!proven_different(divisor, 0)) return std::nullopt;
  Expr quotient = floor_div(dividend, divisor);
  return proven_equal(quotient * divisor, dividend) ? Result(whole(quotient)) : std::nullopt;
}

std::optional<bool> compare(ScalarOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case ScalarOp::equal:
      if (proven_equal(a, b)) return true;
      return proven_different(a, b) ? std::optional(false) : std::nullopt;
    case ScalarOp::less:
      if (proven_less(a, b)) return true;
      return proven_at_least(a, b) ? std::optional(false) : std::nullopt;
    default:
      if (proven_at_least(b, a)) return true;
      return proven_less(b, a) ? std::optional(false) : std::nullopt;
  }
}

Result raise(const SymbolicNumber& base, const SymbolicNumber& exponent) {
  constexpr int64_t maximum_exponent = 8;
  std::optional<int64_t> count = exponent.denominator == 1 ? exponent.numerator.constant() : std::nullopt;
  if (!count || *count < 0 || *count > maximum_exponent) return std::nullopt;
  SymbolicNumber power = whole(1);
  for (int64_t i = 0; i < *count; ++i)
    power = fraction(power.numerator * base.numerator, checked_multiply(power.denominator, base.denominator));
  return power;
}

// Operations whose operands are numbers without symbols, exactly as they are at run time.
Result fold(BinaryFunction function, const SymbolicNumber& a, const SymbolicNumber& b) {
  ScalarValue left{.integer = *a.numerator.constant()}, right{.integer = *b.numerator.constant()};
  return whole(function(left, right).integer);
}

Result integer_binary(ScalarOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case ScalarOp::divide:
      return whole_if(divide_integers(a, b));
    case ScalarOp::modulo_floor:
      return whole_if(remainder_of_integers(a, b));
    case ScalarOp::modulo_truncate:
      return proven_at_least(a, 0) ? whole_if(remainder_of_integers(a, b)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// What integers and reals share: operands brought to one denominator.
Result common_binary(ScalarOp op, const SymbolicNumber& a, const SymbolicNumber& b) {
  const int64_t denominator = std::lcm(a.denominator, b.denominator);
  const Expr left = a.numerator * (denominator / a.denominator), right = b.numerator * (denominator / b.denominator);
  switch (op) {
    case ScalarOp::add:
      return fraction(left + right, denominator);
    case ScalarOp::subtract:
      return fraction(left - right, denominator);
    case ScalarOp::minimum:
      return fraction(min(left, right), denominator);
    case ScalarOp::maximum:
      return fraction(max(left, right), denominator);
    case ScalarOp::multiply:
      return fraction(a.numerator * b.numerator, checked_multiply(a.denominator, b.denominator));
    case ScalarOp::power:
      return raise(a, b);
    case ScalarOp::equal:
    case ScalarOp::less:
    case ScalarOp::less_or_equal: {
      std::optional<bool> known = compare(op, left, right);
      return known ? Result(boolean(*known)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Result round(ScalarOp op, const SymbolicNumber& a) {
  if (a.denominator == 1) return a;
  switch (op) {
    case ScalarOp::floor:
      return whole(floor_div(a.numerator, a.denominator));
    case ScalarOp::ceil:
      return whole(ceil_div(a.numerator, a.denominator));
    case ScalarOp::truncate:
      if (proven_at_least(a.numerator, 0)) return whole(floor_div(a.numerator, a.denominator));
      if (proven_at_least(0, a.numerator)) return whole(ceil_div(a.numerator, a.denominator));
      return std::nullopt;
    case ScalarOp::round_even: {
      std::optional<int64_t> constant = a.numerator.constant();
      if (!constant) return std::nullopt;
      return whole(
          static_cast<int64_t>(std::nearbyint(static_cast<double>(*constant) / static_cast<double>(a.denominator))));
    }
    default:
      return std::nullopt;
  }
}

// Whether sums and products of such coefficients stay within 64 bits.
bool is_moderate(const SymbolicNumber& a) {
  constexpr int64_t largest = int64_t{1} << 30;
  for (const Term& term : a.numerator.terms())
    if (term.coefficient > largest || term.coefficient < -largest) return false;
  return true;
}

bool only_compares(ScalarOp op) {
  return op == ScalarOp::minimum || op == ScalarOp::maximum || op == ScalarOp::equal || op == ScalarOp::less ||
         op == ScalarOp::less_or_equal;
}

Result limited(Result number) { return number && number->denominator <= maximum_denominator ? number : std::nullopt; }

}  // namespace

std::optional<Expr> SymbolicNumber::integer() const {
  return denominator == 1 ? std::optional(numerator) : std::nullopt;
}

Result symbolic_constant(DType dtype, ScalarValue value) {
  if (!is_floating(dtype)) return whole(value.integer);
  constexpr double largest = 1 << 24;
  for (int64_t denominator = 1; denominator <= maximum_denominator; denominator *= 2) {
    const double numerator = value.number * static_cast<double>(denominator);
    if (!(std::fabs(numerator) <= largest)) return std::nullopt;  // also a NaN
    if (numerator == std::floor(numerator)) return SymbolicNumber{static_cast<int64_t>(numerator), denominator};
  }
  return std::nullopt;
}

Result symbolic_unary(ScalarOp op, DType operand, const SymbolicNumber& a) {
  if (operand == DType::boolean)
    return op == ScalarOp::logical_not ? Result(whole(Expr(1) - a.numerator)) : std::nullopt;
  if (!is_signed_integer(operand) && !is_floating(operand)) return std::nullopt;
  switch (op) {
    case ScalarOp::negate:
      return SymbolicNumber{-a.numerator, a.denominator};
    case ScalarOp::absolute:
      return SymbolicNumber{max(a.numerator, -a.numerator), a.denominator};
    case ScalarOp::sign:
      if (proven_at_least(a.numerator, 1)) return whole(1);
      if (proven_less(a.numerator, 0)) return whole(-1);
      return proven_equal(a.numerator, 0) ? Result(whole(0)) : std::nullopt;
    case ScalarOp::is_nan:
    case ScalarOp::is_infinite:
      return boolean(false);
    case ScalarOp::reciprocal:
      return limited(divide_reals(whole(1), a));
    default:
      return round(op, a);
  }
}

Result symbolic_binary(ScalarOp op, DType operand, const SymbolicNumber& a, const SymbolicNumber& b) {
  if (is_floating(operand) && !(is_moderate(a) && is_moderate(b))) return std::nullopt;
  if (is_floating(operand)) return limited(op == ScalarOp::divide ? divide_reals(a, b) : common_binary(op, a, b));
  if (a.numerator.constant() && b.numerator.constant()) return fold(binary_function(op, operand), a, b);
  if (!is_signed_integer(operand)) return std::nullopt;
  if (!only_compares(op) && !(is_moderate(a) && is_moderate(b))) return std::nullopt;
  if (Result result = common_binary(op, a, b)) return result;
  return integer_binary(op, a.numerator, b.numerator);
}

Result symbolic_cast(DType to, DType from, const SymbolicNumber& a) {
  if (is_floating(to)) return info(to).bits < 16 ? std::nullopt : Result(a);
  if (to == DType::boolean) {
    if (proven_different(a.numerator, 0)) return boolean(true);
    return proven_equal(a.numerator, 0) ? Result(boolean(false)) : std::nullopt;
  }
  Result truncated = round(ScalarOp::truncate, a);
  if (!truncated) return std::nullopt;
  if (std::optional<int64_t> constant = truncated->numerator.constant())
    return whole(cast_function(to, DType::int64)({.integer = *constant}).integer);
  return is_signed_integer(to) ? truncated : std::nullopt;
}

}  // namespace onnxc
