#include "ir/loops/text.h"

#include <array>
#include <utility>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using enum ScalarOp;
using enum Notation;

constexpr std::array rows = {
    ScalarOpRow{constant, "constant", leaf, 0},
    ScalarOpRow{index, "index", leaf, 0},
    ScalarOpRow{load, "load", leaf, 0},
    ScalarOpRow{accumulator, "accumulator", leaf, 0},
    ScalarOpRow{cast, "cast", leaf, 1},
    ScalarOpRow{negate, "-", prefix, 1},
    ScalarOpRow{logical_not, "!", prefix, 1},
    ScalarOpRow{bitwise_not, "~", prefix, 1},
    ScalarOpRow{absolute, "abs", function, 1},
    ScalarOpRow{sign, "sign", function, 1},
    ScalarOpRow{exponential, "exp", function, 1},
    ScalarOpRow{logarithm, "log", function, 1},
    ScalarOpRow{square_root, "sqrt", function, 1},
    ScalarOpRow{reciprocal, "reciprocal", function, 1},
    ScalarOpRow{ScalarOp::floor, "floor", function, 1},
    ScalarOpRow{ceil, "ceil", function, 1},
    ScalarOpRow{round_even, "round_even", function, 1},
    ScalarOpRow{truncate, "truncate", function, 1},
    ScalarOpRow{sine, "sin", function, 1},
    ScalarOpRow{cosine, "cos", function, 1},
    ScalarOpRow{tangent, "tan", function, 1},
    ScalarOpRow{arc_sine, "asin", function, 1},
    ScalarOpRow{arc_cosine, "acos", function, 1},
    ScalarOpRow{arc_tangent, "atan", function, 1},
    ScalarOpRow{hyperbolic_sine, "sinh", function, 1},
    ScalarOpRow{hyperbolic_cosine, "cosh", function, 1},
    ScalarOpRow{hyperbolic_tangent, "tanh", function, 1},
    ScalarOpRow{arc_hyperbolic_sine, "asinh", function, 1},
    ScalarOpRow{arc_hyperbolic_cosine, "acosh", function, 1},
    ScalarOpRow{arc_hyperbolic_tangent, "atanh", function, 1},
    ScalarOpRow{error_function, "erf", function, 1},
    ScalarOpRow{is_nan, "is_nan", function, 1},
    ScalarOpRow{is_infinite, "is_infinite", function, 1},
    ScalarOpRow{power, "pow", function, 2},
    ScalarOpRow{minimum, "min", function, 2},
    ScalarOpRow{maximum, "max", function, 2},
    ScalarOpRow{modulo_floor, "modulo_floor", function, 2},
    ScalarOpRow{modulo_truncate, "modulo_truncate", function, 2},
    ScalarOpRow{select, "select", function, 3},
    ScalarOpRow{logical_or, "||", infix, 2, 1},
    ScalarOpRow{logical_xor, "^^", infix, 2, 2},
    ScalarOpRow{logical_and, "&&", infix, 2, 3},
    ScalarOpRow{bitwise_or, "|", infix, 2, 4},
    ScalarOpRow{bitwise_xor, "^", infix, 2, 5},
    ScalarOpRow{bitwise_and, "&", infix, 2, 6},
    ScalarOpRow{equal, "==", infix, 2, 7},
    ScalarOpRow{less, "<", infix, 2, 8},
    ScalarOpRow{less_or_equal, "<=", infix, 2, 8},
    ScalarOpRow{shift_left, "<<", infix, 2, 9},
    ScalarOpRow{shift_right, ">>", infix, 2, 9},
    ScalarOpRow{add, "+", infix, 2, 10},
    ScalarOpRow{subtract, "-", infix, 2, 10},
    ScalarOpRow{multiply, "*", infix, 2, 11},
    ScalarOpRow{divide, "/", infix, 2, 11},
};

constexpr std::array<std::pair<ReduceKind, std::string_view>, 10> reduce_names = {{
    {ReduceKind::sum, "sum"},
    {ReduceKind::product, "product"},
    {ReduceKind::minimum, "minimum"},
    {ReduceKind::maximum, "maximum"},
    {ReduceKind::any, "any"},
    {ReduceKind::all, "all"},
    {ReduceKind::argument_minimum, "argument_minimum"},
    {ReduceKind::argument_maximum, "argument_maximum"},
    {ReduceKind::last_argument_minimum, "last_argument_minimum"},
    {ReduceKind::last_argument_maximum, "last_argument_maximum"},
}};

}  // namespace

const ScalarOpRow& row(ScalarOp op) {
  for (const ScalarOpRow& candidate : rows)
    if (candidate.op == op) return candidate;
  internal_error("a scalar operation without a spelling");
}

const ScalarOpRow* find_scalar_op(std::string_view text, Notation notation) {
  for (const ScalarOpRow& candidate : rows)
    if (candidate.text == text && candidate.notation == notation) return &candidate;
  return nullptr;
}

std::string_view name(ReduceKind kind) {
  for (const auto& [candidate, text] : reduce_names)
    if (candidate == kind) return text;
  internal_error("a reduction without a name");
}

std::optional<ReduceKind> parse_reduce_kind(std::string_view name) {
  for (const auto& [kind, text] : reduce_names)
    if (text == name) return kind;
  return std::nullopt;
}

std::string_view name(AxisKind kind) {
  switch (kind) {
    case AxisKind::parallel:
      return "axes";
    case AxisKind::ordered:
      return "ordered";
    case AxisKind::reduce:
      return "reduce";
  }
  internal_error("an axis of no kind");
}

std::string_view spelling(StoreKind kind) {
  switch (kind) {
    case StoreKind::assign:
      return "=";
    case StoreKind::add:
      return "+=";
    case StoreKind::multiply:
      return "*=";
    case StoreKind::minimum:
      return "min=";
    case StoreKind::maximum:
      return "max=";
  }
  internal_error("a store of no kind");
}

}  // namespace onnxc
