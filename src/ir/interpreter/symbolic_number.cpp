#include "ir/interpreter/symbolic_number.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ir/interpreter/exactness.h"
#include "ir/loops/scalar_ops.h"
#include "support/checked.h"

namespace onnxc {
namespace {

using Number = SymbolicNumber;
using Result = std::optional<SymbolicNumber>;

Number whole(Expr value) { return {std::move(value), 1}; }
Result whole_if(const std::optional<Expr>& value) { return value ? Result(whole(*value)) : std::nullopt; }
Number boolean(bool value) { return whole(value ? 1 : 0); }

// In lowest terms.
Number fraction(const Expr& numerator, int64_t denominator) {
  const int64_t divisor = std::gcd(common_coefficient(numerator), denominator);
  return divisor == 1 ? Number{numerator, denominator} : Number{floor_div(numerator, divisor), denominator / divisor};
}

// ------------------------------------------------------------------------------------------ what a run computes

Result if_exact(DType dtype, const Result& number) {
  if (!number) return std::nullopt;
  return (is_floating(dtype) ? is_exact(dtype, *number) : is_within_integer(dtype, *number)) ? number : std::nullopt;
}

// -------------------------------------------------------------------------------------------- rules of one operand

Result negate(const Number& a) { return Number{-a.numerator, a.denominator}; }
Result absolute(const Number& a) { return Number{max(a.numerator, -a.numerator), a.denominator}; }

Result sign(const Number& a) {
  if (proven_at_least(a.numerator, 1)) return whole(1);
  if (proven_less(a.numerator, 0)) return whole(-1);
  return proven_equal(a.numerator, 0) ? Result(whole(0)) : std::nullopt;
}

Result round_down(const Number& a) { return whole(floor_div(a.numerator, a.denominator)); }
Result round_up(const Number& a) { return whole(ceil_div(a.numerator, a.denominator)); }

Result truncate(const Number& a) {
  if (a.denominator == 1) return a;
  if (proven_at_least(a.numerator, 0)) return round_down(a);
  return proven_at_least(0, a.numerator) ? round_up(a) : std::nullopt;
}

Result round_even(const Number& a) { return a.denominator == 1 ? Result(a) : std::nullopt; }
Result is_special(const Number& /*a*/) { return boolean(false); }
Result logical_not(const Number& a) { return whole(Expr(1) - a.numerator); }

// ------------------------------------------------------------------------------------------ rules of two operands

// Two numbers over one denominator.
struct Pair {
  Expr left, right;
  int64_t denominator;
};

Pair over_one_denominator(const Number& a, const Number& b) {
  const int64_t denominator = std::lcm(a.denominator, b.denominator);
  return {a.numerator * (denominator / a.denominator), b.numerator * (denominator / b.denominator), denominator};
}

bool are_exact(DType dtype, const Number& a, const Number& b) {
  return !is_floating(dtype) || (is_exact(dtype, a) && is_exact(dtype, b));
}

Result add(DType dtype, const Number& a, const Number& b) {
  if (!are_exact(dtype, a, b)) return std::nullopt;
  const auto [left, right, denominator] = over_one_denominator(a, b);
  return if_exact(dtype, fraction(left + right, denominator));
}

Result subtract(DType dtype, const Number& a, const Number& b) { return add(dtype, a, *negate(b)); }

Result multiply(DType dtype, const Number& a, const Number& b) {
  if (!are_exact(dtype, a, b)) return std::nullopt;
  return if_exact(dtype, fraction(a.numerator * b.numerator, checked_multiply(a.denominator, b.denominator)));
}

// The truncating quotient; 0 if b is 0, as at run time.
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

Result divide_reals(DType dtype, const Number& a, const Number& b) {
  if (!are_exact(dtype, a, b)) return std::nullopt;
  const Expr dividend = a.numerator * b.denominator, divisor = b.numerator * a.denominator;
  if (const std::optional<int64_t> constant = divisor.constant()) {
    if (*constant == 0) return std::nullopt;
    const Number quotient = fraction(*constant > 0 ? dividend : -dividend, std::abs(*constant));
    if (is_power_of_two(quotient.denominator)) return if_exact(dtype, quotient);
    return is_quotient(dtype, quotient) ? Result(quotient) : std::nullopt;
  }
  if (!proven_different(divisor, 0)) return std::nullopt;
  const Expr quotient = floor_div(dividend, divisor);
  return proven_equal(quotient * divisor, dividend) ? if_exact(dtype, whole(quotient)) : std::nullopt;
}

Result divide(DType dtype, const Number& a, const Number& b) {
  return is_floating(dtype) ? divide_reals(dtype, a, b) : whole_if(divide_integers(a.numerator, b.numerator));
}

// The remainder with the divisor's sign; 0 if b is 0, as at run time.
Result modulo_floor(DType dtype, const Number& a, const Number& b) {
  if (is_floating(dtype) || !proven_at_least(b.numerator, 0)) return std::nullopt;
  return whole(mod(a.numerator, proven_at_least(b.numerator, 1) ? b.numerator : max(b.numerator, 1)));
}

Result modulo_truncate(DType dtype, const Number& a, const Number& b) {
  return proven_at_least(a.numerator, 0) ? modulo_floor(dtype, a, b) : std::nullopt;
}

Result raise(DType dtype, const Number& base, const Number& exponent) {
  constexpr int64_t maximum_exponent = 8;
  const std::optional<int64_t> count = exponent.denominator == 1 ? exponent.numerator.constant() : std::nullopt;
  if (!count || *count < 0 || *count > maximum_exponent) return std::nullopt;
  Result power = whole(1);
  for (int64_t i = 0; i < *count && power; ++i) power = multiply(dtype, *power, base);
  return power;
}

Result minimum(DType dtype, const Number& a, const Number& b) {
  if (!are_exact(dtype, a, b)) return std::nullopt;
  const auto [left, right, denominator] = over_one_denominator(a, b);
  return fraction(min(left, right), denominator);
}

Result maximum(DType dtype, const Number& a, const Number& b) {
  if (!are_exact(dtype, a, b)) return std::nullopt;
  const auto [left, right, denominator] = over_one_denominator(a, b);
  return fraction(max(left, right), denominator);
}

// A rounded quotient may be compared with an integer.
std::optional<Pair> comparable(DType dtype, const Number& a, const Number& b) {
  const bool may = are_exact(dtype, a, b) || (a.denominator == 1 && is_exact(dtype, a)) ||
                   (b.denominator == 1 && is_exact(dtype, b));
  return may ? std::optional(over_one_denominator(a, b)) : std::nullopt;
}

// `holds` and `fails` are proofs.
Result decided(bool holds, bool fails) { return holds || fails ? Result(boolean(holds)) : std::nullopt; }

Result equal(DType dtype, const Number& a, const Number& b) {
  const std::optional<Pair> pair = comparable(dtype, a, b);
  return pair ? decided(proven_equal(pair->left, pair->right), proven_different(pair->left, pair->right))
              : std::nullopt;
}

Result less(DType dtype, const Number& a, const Number& b) {
  const std::optional<Pair> pair = comparable(dtype, a, b);
  return pair ? decided(proven_less(pair->left, pair->right), proven_at_least(pair->left, pair->right)) : std::nullopt;
}

Result less_or_equal(DType dtype, const Number& a, const Number& b) {
  const Result greater = less(dtype, b, a);
  return greater ? logical_not(*greater) : std::nullopt;
}

// ------------------------------------------------------------------------------------------------- all operations

// The rule of an operation on numbers that hold sizes. One without a rule is left to the run.
struct Rule {
  ScalarOp op;
  Result (*unary)(const Number& a) = nullptr;
  Result (*binary)(DType dtype, const Number& a, const Number& b) = nullptr;
};

constexpr std::array rules = {
    Rule{ScalarOp::constant},
    Rule{ScalarOp::index},
    Rule{ScalarOp::load},
    Rule{ScalarOp::accumulator},
    Rule{ScalarOp::negate, negate},
    Rule{ScalarOp::absolute, absolute},
    Rule{ScalarOp::sign, sign},
    Rule{ScalarOp::exponential},
    Rule{ScalarOp::logarithm},
    Rule{ScalarOp::square_root},
    Rule{ScalarOp::reciprocal},
    Rule{ScalarOp::floor, round_down},
    Rule{ScalarOp::ceil, round_up},
    Rule{ScalarOp::round_even, round_even},
    Rule{ScalarOp::truncate, truncate},
    Rule{ScalarOp::sine},
    Rule{ScalarOp::cosine},
    Rule{ScalarOp::tangent},
    Rule{ScalarOp::arc_sine},
    Rule{ScalarOp::arc_cosine},
    Rule{ScalarOp::arc_tangent},
    Rule{ScalarOp::hyperbolic_sine},
    Rule{ScalarOp::hyperbolic_cosine},
    Rule{ScalarOp::hyperbolic_tangent},
    Rule{ScalarOp::arc_hyperbolic_sine},
    Rule{ScalarOp::arc_hyperbolic_cosine},
    Rule{ScalarOp::arc_hyperbolic_tangent},
    Rule{ScalarOp::error_function},
    Rule{ScalarOp::logical_not, logical_not},
    Rule{ScalarOp::bitwise_not},
    Rule{ScalarOp::is_nan, is_special},
    Rule{ScalarOp::is_infinite, is_special},
    Rule{ScalarOp::cast},  // symbolic_cast
    Rule{ScalarOp::reinterpret},
    Rule{ScalarOp::add, nullptr, add},
    Rule{ScalarOp::subtract, nullptr, subtract},
    Rule{ScalarOp::multiply, nullptr, multiply},
    Rule{ScalarOp::divide, nullptr, divide},
    Rule{ScalarOp::modulo_floor, nullptr, modulo_floor},
    Rule{ScalarOp::modulo_truncate, nullptr, modulo_truncate},
    Rule{ScalarOp::power, nullptr, raise},
    Rule{ScalarOp::minimum, nullptr, minimum},
    Rule{ScalarOp::maximum, nullptr, maximum},
    Rule{ScalarOp::equal, nullptr, equal},
    Rule{ScalarOp::less, nullptr, less},
    Rule{ScalarOp::less_or_equal, nullptr, less_or_equal},
    Rule{ScalarOp::logical_and},
    Rule{ScalarOp::logical_or},
    Rule{ScalarOp::logical_xor},
    Rule{ScalarOp::bitwise_and},
    Rule{ScalarOp::bitwise_or},
    Rule{ScalarOp::bitwise_xor},
    Rule{ScalarOp::shift_left},
    Rule{ScalarOp::shift_right},
    Rule{ScalarOp::random_bits},
    Rule{ScalarOp::select},  // PointEvaluator
    Rule{ScalarOp::string_function},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i].op != static_cast<ScalarOp>(i)) return false;
  return rules.back().op == ScalarOp::string_function;
}
static_assert(is_in_order(), "a row for each operation, in the order of ScalarOp");

const Rule& rule(ScalarOp op) { return rules.at(static_cast<size_t>(op)); }

// The types whose arithmetic on sizes has rules: the others wrap or saturate soon.
bool has_rules(DType dtype) {
  return dtype == DType::int64 || dtype == DType::int32 || dtype == DType::boolean || is_floating(dtype);
}

// The type that an operation on this one is computed in.
DType computed_in(DType dtype) { return info(dtype).compute; }

DType type_of_result(ScalarOp op, DType operand) {
  return row(op).gives_boolean ? DType::boolean : computed_in(operand);
}

// Whether intermediate numbers stay within 64 bits.
constexpr int64_t maximum_denominator = 1024;
bool is_moderate(const Number& a) {
  constexpr int64_t largest = int64_t{1} << 30;
  return a.denominator <= maximum_denominator && std::ranges::all_of(a.numerator.terms(), [](const Term& term) {
           return term.coefficient <= largest && term.coefficient >= -largest;
         });
}

bool only_compares(ScalarOp op) {
  return op == ScalarOp::minimum || op == ScalarOp::maximum || op == ScalarOp::equal || op == ScalarOp::less ||
         op == ScalarOp::less_or_equal;
}

}  // namespace

std::optional<Expr> SymbolicNumber::integer() const {
  return denominator == 1 ? std::optional(numerator) : std::nullopt;
}

std::optional<ScalarValue> SymbolicNumber::known(DType dtype) const {
  const std::optional<int64_t> constant = numerator.constant();
  if (!constant || !is_power_of_two(denominator)) return std::nullopt;
  if (is_floating(dtype))
    return ScalarValue{.number = static_cast<double>(*constant) / static_cast<double>(denominator)};
  return ScalarValue{.integer = *constant};
}

Result symbolic_constant(DType dtype, ScalarValue value) {
  if (!is_floating(dtype)) return whole(value.integer);
  constexpr double largest = int64_t{1} << 53;
  for (int64_t denominator = 1; denominator < int64_t{1} << 62; denominator *= 2) {
    const double numerator = value.number * static_cast<double>(denominator);
    if (!(std::fabs(numerator) <= largest)) return std::nullopt;  // also a NaN
    if (numerator == std::floor(numerator)) return Number{static_cast<int64_t>(numerator), denominator};
  }
  return std::nullopt;
}

Result symbolic_unary(ScalarOp op, DType operand, const SymbolicNumber& a) {
  if (const std::optional<ScalarValue> value = a.known(operand))
    return symbolic_constant(type_of_result(op, operand), unary_function(op, operand)(*value));
  const auto compute = rule(op).unary;
  return compute != nullptr && has_rules(operand) ? compute(a) : std::nullopt;
}

Result symbolic_binary(ScalarOp op, DType operand, const SymbolicNumber& a, const SymbolicNumber& b) {
  if (const std::optional<ScalarValue> left = a.known(operand), right = b.known(operand); left && right)
    return symbolic_constant(type_of_result(op, operand), binary_function(op, operand)(*left, *right));
  const auto compute = rule(op).binary;
  if (compute == nullptr || !has_rules(operand)) return std::nullopt;
  const bool may_be_large = only_compares(op) && !is_floating(operand);
  if (!may_be_large && !(is_moderate(a) && is_moderate(b))) return std::nullopt;
  const Result result = compute(computed_in(operand), a, b);
  return result && result->denominator <= maximum_denominator ? result : std::nullopt;
}

Result symbolic_cast(DType to, DType from, const SymbolicNumber& a) {
  if (const std::optional<ScalarValue> value = a.known(from))
    return symbolic_constant(to, cast_function(to, from)(*value));
  if (is_floating(to)) return is_exact(to, a) ? Result(a) : std::nullopt;
  if (to == DType::boolean) return decided(proven_different(a.numerator, 0), proven_equal(a.numerator, 0));
  const Result truncated = truncate(a);
  if (!truncated || (to != DType::int64 && to != DType::int32)) return std::nullopt;
  return is_within_integer(to, *truncated) ? truncated : std::nullopt;
}

}  // namespace onnxc
