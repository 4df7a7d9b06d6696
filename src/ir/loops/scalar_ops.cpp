#include "ir/loops/scalar_ops.h"

#include <array>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

using enum ScalarOp;
using enum Notation;
using enum Exactness;

// Operation, text, notation, operands, precedence; function and operator in C, for floating types only; exactness,
// whether the result is a boolean.
constexpr std::array rows = {
    ScalarOpRow{constant, "constant", leaf, 0, 0, ""}, ScalarOpRow{index, "index", leaf, 0, 0, ""},
    ScalarOpRow{load, "load", leaf, 0, 0, ""}, ScalarOpRow{accumulator, "accumulator", leaf, 0, 0, ""},
    ScalarOpRow{negate, "-", prefix, 1, 0, "negate", "", false, always},
    ScalarOpRow{absolute, "abs", function, 1, 0, "absolute", "", false, always},
    ScalarOpRow{sign, "sign", function, 1, 0, "sign", "", false, always},
    ScalarOpRow{exponential, "exp", function, 1, 0, "exponential"},
    ScalarOpRow{logarithm, "log", function, 1, 0, "logarithm"},
    ScalarOpRow{square_root, "sqrt", function, 1, 0, "square_root", "", false, unrounded},
    ScalarOpRow{reciprocal, "reciprocal", function, 1, 0, "reciprocal", "", false, unrounded},
    ScalarOpRow{ScalarOp::floor, "floor", function, 1, 0, "floor", "", false, always},
    ScalarOpRow{ceil, "ceil", function, 1, 0, "ceil", "", false, always},
    ScalarOpRow{round_even, "round_even", function, 1, 0, "round_even", "", false, always},
    ScalarOpRow{truncate, "truncate", function, 1, 0, "truncate", "", false, always},
    ScalarOpRow{sine, "sin", function, 1, 0, "sine"}, ScalarOpRow{cosine, "cos", function, 1, 0, "cosine"},
    ScalarOpRow{tangent, "tan", function, 1, 0, "tangent"}, ScalarOpRow{arc_sine, "asin", function, 1, 0, "arc_sine"},
    ScalarOpRow{arc_cosine, "acos", function, 1, 0, "arc_cosine"},
    ScalarOpRow{arc_tangent, "atan", function, 1, 0, "arc_tangent"},
    ScalarOpRow{hyperbolic_sine, "sinh", function, 1, 0, "hyperbolic_sine"},
    ScalarOpRow{hyperbolic_cosine, "cosh", function, 1, 0, "hyperbolic_cosine"},
    ScalarOpRow{hyperbolic_tangent, "tanh", function, 1, 0, "hyperbolic_tangent"},
    ScalarOpRow{arc_hyperbolic_sine, "asinh", function, 1, 0, "arc_hyperbolic_sine"},
    ScalarOpRow{arc_hyperbolic_cosine, "acosh", function, 1, 0, "arc_hyperbolic_cosine"},
    ScalarOpRow{arc_hyperbolic_tangent, "atanh", function, 1, 0, "arc_hyperbolic_tangent"},
    ScalarOpRow{error_function, "erf", function, 1, 0, "error_function"},
    ScalarOpRow{logical_not, "!", prefix, 1, 0, "", "", false, whole, true},
    ScalarOpRow{bitwise_not, "~", prefix, 1, 0, ""},
    ScalarOpRow{is_nan, "is_nan", function, 1, 0, "is_nan", "", false, always, true},
    ScalarOpRow{is_infinite, "is_infinite", function, 1, 0, "is_infinite", "", false, always, true},
    ScalarOpRow{cast, "cast", leaf, 1, 0, ""}, ScalarOpRow{reinterpret, "reinterpret", leaf, 1, 0, ""},
    ScalarOpRow{add, "+", infix, 2, 10, "add", "+", true, unrounded},
    ScalarOpRow{subtract, "-", infix, 2, 10, "subtract", "-", true, unrounded},
    ScalarOpRow{multiply, "*", infix, 2, 11, "multiply", "*", true, unrounded},
    ScalarOpRow{divide, "/", infix, 2, 11, "divide", "/", true, unrounded},
    ScalarOpRow{modulo_floor, "modulo_floor", function, 2, 0, "modulo_floor"},
    ScalarOpRow{modulo_truncate, "modulo_truncate", function, 2, 0, "modulo_truncate"},
    ScalarOpRow{power, "pow", function, 2, 0, "power"},
    ScalarOpRow{minimum, "min", function, 2, 0, "minimum", "", false, always},
    ScalarOpRow{maximum, "max", function, 2, 0, "maximum", "", false, always},
    ScalarOpRow{equal, "==", infix, 2, 7, "equal", "==", false, always, true},
    ScalarOpRow{less, "<", infix, 2, 8, "less", "<", false, always, true},
    ScalarOpRow{less_or_equal, "<=", infix, 2, 8, "less_or_equal", "<=", false, always, true},
    // Both sides are values already, so that nothing is gained by && and ||, and a branch is lost.
    ScalarOpRow{logical_and, "&&", infix, 2, 3, "logical_and", "&", false, whole, true},
    ScalarOpRow{logical_or, "||", infix, 2, 1, "logical_or", "|", false, whole, true},
    ScalarOpRow{logical_xor, "^^", infix, 2, 2, "logical_xor", "^", false, whole, true},
    ScalarOpRow{bitwise_and, "&", infix, 2, 6, "bitwise_and", "&", false},
    ScalarOpRow{bitwise_or, "|", infix, 2, 4, "bitwise_or", "|", false},
    ScalarOpRow{bitwise_xor, "^", infix, 2, 5, "bitwise_xor", "^", false},
    ScalarOpRow{shift_left, "<<", infix, 2, 9, "shift_left"},
    ScalarOpRow{shift_right, ">>", infix, 2, 9, "shift_right"},
    ScalarOpRow{random_bits, "random_bits", function, 2, 0, "random_bits"},
    ScalarOpRow{select, "select", function, 3, 0, ""},
    ScalarOpRow{string_function, "string_function", leaf, 0, 0, ""},  // string_functions.h
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].op != static_cast<ScalarOp>(i)) return false;
  return rows.back().op == string_function;
}
static_assert(is_in_order(), "a row for each operation, in the order of ScalarOp");

}  // namespace

const ScalarOpRow& row(ScalarOp op) { return rows.at(static_cast<size_t>(op)); }

const ScalarOpRow* find_scalar_op(std::string_view text, Notation notation) {
  for (const ScalarOpRow& candidate : rows)
    if (candidate.text == text && candidate.notation == notation) return &candidate;
  return nullptr;
}

}  // namespace onnxc
