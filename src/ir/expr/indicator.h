// Indicators: minima that are 0 or 1, such as min(a, b, 1), which says whether both a and b have elements.
//
// Broadcasting multiplies sizes by them. In a product an indicator says only what the other factors do not: a*min(a, b,
// 1) is a*min(b, 1), and two indicators are one. So a size that is broadcast again and again does not grow.
#pragma once

#include <optional>
#include <vector>

#include "ir/expr/expr.h"

namespace onnxc {

// Makes the indicators of a product one, which says no more than it must. Does not keep the factors' order.
void join_indicators(Term& term);

// The factors of the operands of a minimum that is an indicator: only whether each is 0 counts, so that min(2*a*b, 1)
// is min(a, b, 1). Nothing if there is no such product.
std::optional<std::vector<Expr>> factors_of_indicator(const std::vector<Expr>& operands);

// An expression of one term without its indicators: what it is where it is not 0. Any other stays as it is.
Expr without_indicators(const Expr& expr);

// a/b if b has indicators that a no longer needs: a*a*max(a, b)*min(b, 1) by max(a, b)*min(a, b, 1) is a*a. Nothing if
// no such quotient is found.
std::optional<Term> divide_by_indicators(const Term& a, const Term& b);

}  // namespace onnxc
