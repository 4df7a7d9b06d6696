// Integer expressions as C: the same text on every target, over int64_t variables.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ir/expr/expr.h"

namespace onnxc {

// The C variable of each symbol.
using SymbolNames = std::map<Symbol, std::string>;

// Floor division and modulo become C's `/` and `%` if both sides are proven not negative, else calls of floor_divide(a,
// b) and floor_modulo(a, b); minima and maxima become calls of minimum(a, b) and maximum(a, b). InternalError for a
// symbol without a name. `integer` is the type of the variables.
std::string print_expr(const Expr& expr, const SymbolNames& names, std::string_view integer = "int64_t");

// An int64_t literal; also the smallest, which C cannot spell directly.
std::string print_integer(int64_t value);

}  // namespace onnxc
