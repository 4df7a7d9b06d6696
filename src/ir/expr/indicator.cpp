#include "ir/expr/indicator.h"

#include <algorithm>

#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

bool is_never_negative(const Atom& atom) { return atom->bounds.minimum >= 0; }

bool is_never_negative(const Term& term) {
  return term.coefficient >= 0 &&
         std::ranges::all_of(term.factors, [](const Atom& factor) { return is_never_negative(factor); });
}

bool is_indicator(const Atom& atom) {
  return atom->kind == AtomKind::min && is_never_negative(atom) && atom->bounds.maximum <= 1;
}

bool has_indicator(const std::vector<Atom>& factors) { return std::ranges::any_of(factors, is_indicator); }

bool is_never_zero(const Expr& expr, const std::vector<Atom>& nonzero);

// True if the atom cannot be 0 as long as no atom of `nonzero` is. A maximum is not 0 if one operand is more.
bool is_never_zero(const Atom& atom, const std::vector<Atom>& nonzero) {
  if (atom->bounds.minimum >= 1) return true;
  if (std::ranges::any_of(nonzero, [&](const Atom& other) { return compare_atoms(atom, other) == 0; })) return true;
  return atom->kind == AtomKind::max &&
         std::ranges::any_of(atom->operands, [&](const Expr& operand) { return is_never_zero(operand, nonzero); });
}

// A sum of non-negative terms is positive if one term is.
bool is_never_zero(const Expr& expr, const std::vector<Atom>& nonzero) {
  const auto is_positive = [&](const Term& term) {
    return std::ranges::all_of(term.factors, [&](const Atom& factor) { return is_never_zero(factor, nonzero); });
  };
  const auto is_part = [](const Term& term) { return is_never_negative(term); };
  return std::ranges::all_of(expr.terms(), is_part) && std::ranges::any_of(expr.terms(), is_positive);
}

bool is_product_of_sizes(const Expr& expr) {
  return expr.terms().size() == 1 && !expr.constant() && is_never_negative(expr.terms()[0]);
}

void add_factors(const Expr& operand, std::vector<Expr>& factors) {
  if (!is_product_of_sizes(operand)) {
    factors.push_back(operand);
    return;
  }
  for (const Atom& factor : operand.terms()[0].factors) {
    if (factor->kind != AtomKind::min)
      factors.push_back(as_expr(factor));
    else
      for (const Expr& inner : factor->operands) add_factors(inner, factors);
  }
}

Term without_indicators(const Term& term) {
  Term result = term;
  std::erase_if(result.factors, is_indicator);
  return result;
}

}  // namespace

void join_indicators(Term& term) {
  if (term.factors.size() < 2 || !has_indicator(term.factors)) return;
  const Term others = without_indicators(term);
  std::vector<Expr> said, needed;
  for (const Atom& factor : term.factors) {
    if (!is_indicator(factor)) continue;
    for (const Expr& operand : factor->operands)
      (is_never_zero(operand, others.factors) && !operand.constant() ? said : needed).push_back(operand);
  }
  if (said.empty() && others.factors.size() + 1 == term.factors.size()) return;
  const std::optional<Expr> joined = unless_overflow([&] {
    Expr indicator = 1;
    for (const Expr& operand : needed) indicator = min(indicator, operand);
    return indicator;
  });
  if (!joined || joined->terms().size() != 1) return;
  const Term& indicator = joined->terms()[0];
  const int64_t coefficient = checked_multiply(term.coefficient, indicator.coefficient);
  term = {coefficient, others.factors};
  term.factors.insert(term.factors.end(), indicator.factors.begin(), indicator.factors.end());
}

std::optional<std::vector<Expr>> factors_of_indicator(const std::vector<Expr>& operands) {
  const auto is_product = [](const Expr& operand) {
    if (!is_product_of_sizes(operand)) return false;
    const Term& product = operand.terms()[0];
    return product.coefficient > 1 || product.factors.size() > 1;
  };
  const bool all_count = std::ranges::all_of(operands, [](const Expr& each) { return each.bounds().minimum >= 0; });
  const bool one_at_most = std::ranges::any_of(operands, [](const Expr& each) { return each.bounds().maximum <= 1; });
  if (!all_count || !one_at_most || std::ranges::none_of(operands, is_product)) return std::nullopt;
  std::vector<Expr> factors;
  for (const Expr& operand : operands) add_factors(operand, factors);
  return factors;
}

Expr without_indicators(const Expr& expr) {
  return expr.terms().size() == 1 ? as_expr(without_indicators(expr.terms()[0])) : expr;
}

std::optional<Term> divide_by_indicators(const Term& a, const Term& b) {
  if (!has_indicator(b.factors)) return std::nullopt;
  const Term divisor = without_indicators(b);
  for (const Term& dividend : {without_indicators(a), a}) {
    const std::optional<Term> quotient = divide_exactly(dividend, divisor);
    if (quotient && as_expr(*quotient) * as_expr(b) == as_expr(a)) return quotient;
  }
  return std::nullopt;
}

}  // namespace onnxc
