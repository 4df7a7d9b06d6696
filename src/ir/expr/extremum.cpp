// Minimum and maximum of expressions: flattened, sorted, without operands that another one is proven to dominate.
#include <algorithm>

#include "ir/expr/effort.h"
#include "ir/expr/expr.h"
#include "ir/expr/indicator.h"
#include "ir/expr/terms.h"

namespace onnxc {
namespace {

// max(2*max(a, b) + r, ...) has the operands 2*a + r and 2*b + r; min turns into max under a negative coefficient. A
// sum of several maxima stays whole: its operands would multiply.
std::vector<Expr> operands_of(AtomKind kind, const Expr& expr) {
  auto extends = [&](const Term& term) {
    return term.factors.size() == 1 && term.factors[0]->kind == (term.coefficient > 0 ? kind : opposite(kind));
  };
  if (std::ranges::count_if(expr.terms(), extends) != 1) return {expr};
  const Term& term = *std::ranges::find_if(expr.terms(), extends);
  Expr rest = expr - as_expr(term);
  std::vector<Expr> operands;
  for (const Expr& operand : term.factors[0]->operands)
    std::ranges::move(operands_of(kind, term.coefficient * operand + rest), std::back_inserter(operands));
  return operands;
}

// True when b does not count beside a.
bool dominates(AtomKind kind, const Expr& a, const Expr& b) {
  return kind == AtomKind::min ? proven_at_least(b, a) : proven_at_least(a, b);
}

void add_operand(AtomKind kind, std::vector<Expr>& operands, const Expr& added) {
  if (std::ranges::any_of(operands, [&](const Expr& other) { return dominates(kind, other, added); })) return;
  std::erase_if(operands, [&](const Expr& other) { return dominates(kind, added, other); });
  operands.push_back(added);
}

Expr extremum(AtomKind kind, const Expr& a, const Expr& b) {
  const Effort effort;
  std::vector<Expr> operands = operands_of(kind, a);
  for (const Expr& operand : operands_of(kind, b)) add_operand(kind, operands, operand);
  if (kind == AtomKind::min) {
    if (const auto factors = factors_of_indicator(operands)) {
      operands.clear();
      for (const Expr& factor : *factors) add_operand(kind, operands, factor);
    }
  }
  std::ranges::sort(operands);
  operands.erase(std::ranges::unique(operands).begin(), operands.end());
  if (operands.size() == 1) return operands[0];
  return make_atom(kind, std::move(operands));
}

}  // namespace

Expr min(const Expr& a, const Expr& b) { return extremum(AtomKind::min, a, b); }
Expr max(const Expr& a, const Expr& b) { return extremum(AtomKind::max, a, b); }

}  // namespace onnxc
