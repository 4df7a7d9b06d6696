// Dims as models write them: PyTorch's exporter puts expressions such as `16*(((D - 1)//16)) + 16` or `Max(1, s0)` into
// dim_param, and other tools any text they like.
#pragma once

#include <functional>
#include <string_view>

#include "ir/expr/expr.h"

namespace onnxc {

// The expression that a name in the text stands for.
using SymbolResolver = std::function<Expr(std::string_view name)>;

// Reads what Expr::to_string and Python's sympy write: + - * // % / ** with Python's precedence, parentheses, integers,
// names, and the functions min, max, Mod, FloorDiv, CeilDiv, ModularIndexing, floor, ceiling and their other spellings.
// A text that is not of this form ("batch size", "N.1") is one name as a whole. UserError, naming the text, if it is
// too long or nests too deep, if a true division does not come out exact, on a division by zero, and for numbers beyond
// 64 bits.
Expr parse_expr(std::string_view text, const SymbolResolver& resolve);

}  // namespace onnxc
