// Floor division and modulo of expressions.
//
// a//b and a%b are reduced together, so that b*(a//b) + a%b stays recognisable as a:
// - what b divides leaves the dividend:          (16*co + ci)//16 = co + ci//16
// - a dividend proven in [0, b) leaves:          ci//16 = 0 and ci%16 = ci when ci is an axis of extent 16
// - a factor common to b and some terms cancels
//   when the other terms are proven below it:    (4*x + c)//(4*b) = x//b when 0 <= c < 4
// b may be symbolic, a monomial or a sum. Sound, not complete: there is no search over ways to split a dividend.
#include <algorithm>

#include "ir/expr/effort.h"
#include "ir/expr/expr.h"
#include "ir/expr/indicator.h"
#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

// a//b = quotient + dividend//divisor and a%b = scale*(dividend%divisor) + low; 0 <= low < scale.
struct Reduction {
  Expr quotient;
  Expr dividend;
  Expr divisor;
  Expr scale = 1;
  Expr low;
};

struct QuotientAndRest {
  Expr quotient;
  Expr rest;
};

// a = quotient*b + rest, by polynomial division; nothing when it takes too many steps.
std::optional<QuotientAndRest> divide_polynomial(Expr a, const Expr& b) {
  constexpr int max_steps = 100;
  QuotientAndRest result;
  for (int step = 0; !a.is_constant(0); ++step) {
    if (step == max_steps || Effort::is_spent()) return std::nullopt;
    Term leading = a.terms()[0];
    if (auto ratio = divide_exactly(leading, b.terms()[0])) {
      result.quotient += as_expr(*ratio);
      a -= as_expr(*ratio) * b;
    } else {
      result.rest += as_expr(leading);
      a -= as_expr(leading);
    }
  }
  return result;
}

// The same for a b of one term, if each term of a either divides or stays.
QuotientAndRest divide_terms(const Expr& a, const Term& b) {
  std::vector<Term> quotient, rest;
  for (const Term& term : a.terms()) {
    std::optional<Term> ratio = divide_exactly(term, b);
    if (!ratio) ratio = divide_by_indicators(term, b);
    if (ratio)
      quotient.push_back(*ratio);
    else
      rest.push_back(term);
  }
  return {Expr::from_terms(std::move(quotient)), Expr::from_terms(std::move(rest))};
}

bool proven_within(const Expr& a, const Expr& b) { return proven_at_least(a, 0) && proven_less(a, b); }

// For a constant divisor: brings the constant term into [0, divisor), and takes out a quotient that the bounds settle.
void move_constants(Reduction& r) {
  int64_t divisor = *r.divisor.constant();
  int64_t constant = constant_part(r.dividend);
  int64_t quotient = floor_divide(constant, divisor);
  if (quotient != 0) {
    r.quotient += quotient;
    r.dividend += floor_modulo(constant, divisor) - Expr(constant);
  }
  Bounds bounds = r.dividend.bounds();
  if (bounds.minimum == Bounds::minus_infinity || bounds.maximum == Bounds::infinity) return;
  quotient = floor_divide(bounds.minimum, divisor);
  if (quotient != floor_divide(bounds.maximum, divisor)) return;
  r.quotient += quotient;
  r.dividend -= quotient * r.divisor;
}

void take_out_multiples(Reduction& r, const Expr& scope) {
  if (!proven_positive(r.divisor, scope)) return;
  if (r.divisor.terms().size() == 1) {
    auto [quotient, rest] = divide_terms(r.dividend, r.divisor.terms()[0]);
    r.quotient += quotient;
    r.dividend = rest;
    if (r.divisor.constant()) move_constants(r);
    return;
  }
  auto division = unless_overflow([&] { return divide_polynomial(r.dividend, r.divisor); });
  if (!division || !*division) return;
  auto& [quotient, rest] = **division;
  // A sum as divisor: taking out a multiple that leaves a long rest would only make the expression larger.
  if (!rest.is_constant(0) && !proven_within(rest, r.divisor)) return;
  r.quotient += quotient;
  r.dividend = rest;
}

// The largest term that divides every term of `expr`.
Term content(const Expr& expr) {
  Term result = expr.terms()[0];
  for (const Term& term : expr.terms()) result = common_divisor(result, term);
  return result;
}

// Tries factor as the one to cancel; true when that could be done.
bool cancel(Reduction& r, const Term& factor, const Expr& scope) {
  auto [kept, below] = divide_terms(r.dividend, factor);
  if (factor.factors.empty()) {
    int64_t constant = constant_part(below);
    kept += floor_divide(constant, factor.coefficient);
    below += floor_modulo(constant, factor.coefficient) - Expr(constant);
  }
  Expr divisor = as_expr(factor);
  if (below.is_constant(0) ? !proven_positive(divisor, scope) : !proven_within(below, divisor)) return false;
  r.low += r.scale * below;
  r.scale *= divisor;
  r.divisor = divide_terms(r.divisor, factor).quotient;
  r.dividend = kept;
  return true;
}

bool cancel_common_factor(Reduction& r, const Expr& scope) {
  Term available = content(r.divisor);
  std::vector<Term> tried;
  auto try_once = [&](const Term& factor) {
    if (factor.coefficient == 1 && factor.factors.empty()) return false;
    for (const Term& other : tried)
      if (other.coefficient == factor.coefficient && compare_factors(other.factors, factor.factors) == 0) return false;
    tried.push_back(factor);
    return cancel(r, factor, scope);
  };
  Term of_all = available;
  for (const Term& term : r.dividend.terms()) {
    if (term.factors.empty()) break;
    if (try_once(common_divisor(term, available))) return true;
    of_all = common_divisor(term, of_all);
    if (try_once(of_all)) return true;
  }
  return false;
}

Reduction reduce(const Expr& a, const Expr& b) {
  Reduction r{.quotient = {}, .dividend = a, .divisor = b, .scale = 1, .low = {}};
  Expr scope = a + b;
  do {
    take_out_multiples(r, scope);
    if (r.dividend.is_constant(0)) break;
    if (proven_within(r.dividend, r.divisor)) {
      r.low += r.scale * r.dividend;
      r.dividend = 0;
      break;
    }
  } while (!Effort::is_spent() && cancel_common_factor(r, scope));
  return r;
}

// a//b = (-a)//(-b), and the remainder only changes its sign: true when that brings b to its preferred form.
bool better_negated(const Expr& b) {
  Bounds bounds = b.bounds();
  if (bounds.minimum > 0) return false;
  return bounds.maximum < 0 || b.terms()[0].coefficient < 0;
}

bool leads_negative(const Expr& a) { return !a.terms().empty() && a.terms()[0].coefficient < 0; }

// The atom and the constant c when `a` is atom + c with an atom of that kind.
std::optional<Atom> single_atom(const Expr& a, AtomKind kind) {
  const auto& terms = a.terms();
  bool one = terms.size() == 1 || (terms.size() == 2 && terms[1].factors.empty());
  if (!one || terms[0].coefficient != 1 || terms[0].factors.size() != 1) return std::nullopt;
  return terms[0].factors[0]->kind == kind ? std::optional(terms[0].factors[0]) : std::nullopt;
}

// a//b for a reduced pair.
Expr divide_reduced(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return 0;
  Expr scope = a + b;
  // (x//y + c)//b = (x + c*y)//(y*b)
  if (auto inner = single_atom(a, AtomKind::floor_div); inner && proven_positive(b, scope)) {
    const Expr& x = (*inner)->operands[0];
    const Expr& y = (*inner)->operands[1];
    auto joined = unless_overflow([&] { return floor_div(x + constant_part(a) * y, y * b); });
    if (joined) return *joined;
  }
  // (x%(e*b))//b = (x//b)%e
  if (auto inner = single_atom(a, AtomKind::mod); inner && constant_part(a) == 0 && proven_positive(b, scope)) {
    auto e = exact_quotient((*inner)->operands[1], b);
    if (e && proven_positive(*e, scope)) return mod(floor_div((*inner)->operands[0], b), *e);
  }
  // (-x)//b = -((x + b - 1)//b)
  if (leads_negative(a) && b.constant()) return -floor_div(b - 1 - a, b);
  return make_atom(AtomKind::floor_div, {a, b});
}

// a%b for a reduced pair.
Expr remainder_of_reduced(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return 0;
  // (-x)%b = b - 1 - (x + b - 1)%b, as above
  if (leads_negative(a) && b.constant()) return b - 1 - mod(b - 1 - a, b);
  return make_atom(AtomKind::mod, {a, b});
}

// k*(x%y) has the remainder of k*x when b divides k*y.
Expr without_inner_remainders(const Expr& a, const Expr& b) {
  Expr result = a;
  for (const Term& term : a.terms()) {
    for (const Atom& atom : term.factors) {
      if (atom->kind != AtomKind::mod) continue;
      Expr others = as_expr(divide_exactly(term, {1, {atom}}).value());
      if (!exact_quotient(others * atom->operands[1], b)) continue;
      result += others * atom->operands[0] - as_expr(term);
      break;
    }
  }
  return result;
}

void check_divisor(const Expr& a, const Expr& b) {
  user_check(!b.is_constant(0), "division of the size {} by zero", a.to_string());
}

}  // namespace

std::optional<Expr> exact_quotient(const Expr& a, const Expr& b) {
  const Effort effort;
  if (b.is_constant(0)) return std::nullopt;
  if (b.terms().size() == 1) {
    auto [quotient, rest] = divide_terms(a, b.terms()[0]);
    return rest.is_constant(0) ? std::optional(quotient) : std::nullopt;
  }
  auto division = unless_overflow([&] { return divide_polynomial(a, b); });
  if (!division || !*division || !(*division)->rest.is_constant(0)) return std::nullopt;
  return (*division)->quotient;
}

Expr floor_div(const Expr& a, const Expr& b) {
  const Effort effort;
  check_divisor(a, b);
  if (better_negated(b)) return floor_div(-a, -b);
  Reduction r = reduce(a, b);
  return r.quotient + divide_reduced(r.dividend, r.divisor);
}

Expr ceil_div(const Expr& a, const Expr& b) {
  check_divisor(a, b);
  if (b.bounds().maximum < 0) return ceil_div(-a, -b);
  return floor_div(a + b - 1, b);
}

Expr mod(const Expr& a, const Expr& b) {
  const Effort effort;
  check_divisor(a, b);
  if (better_negated(b)) return -mod(-a, -b);
  Reduction r = reduce(without_inner_remainders(a, b), b);
  return r.scale * remainder_of_reduced(r.dividend, r.divisor) + r.low;
}

}  // namespace onnxc
