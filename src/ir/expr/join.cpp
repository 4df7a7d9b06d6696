#include "ir/expr/join.h"

#include <algorithm>

#include "ir/expr/effort.h"
#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

bool is_extremum(AtomKind kind) { return kind == AtomKind::min || kind == AtomKind::max; }

bool has_factor(const Term& term, AtomKind kind) {
  return std::ranges::any_of(term.factors, [&](const Atom& atom) { return atom->kind == kind; });
}

// One way to write an atom: atom = kept - sign*present; the sum is searched for sign*present.
struct Identity {
  int sign;
  Expr present;
  Expr kept;
};

// The terms of a sum that are about to be joined, one of them as coefficient*others*atom.
class Joiner {
 public:
  Joiner(std::vector<Term>& terms, size_t index, const Atom& atom)
      : terms_(terms),
        index_(index),
        atom_(atom),
        others_(divide_exactly({1, terms[index].factors}, {1, {atom}}).value()) {}

  bool join() {
    if (atom_->kind == AtomKind::mod) return join_remainder();
    return join_operand() || join_other_extremum();
  }

 private:
  // How many times sign*others*expr lie in the sum, at most as often as the atom does, and with the sign of its
  // coefficient; 0 for none. A constant of `expr` does not count.
  int64_t share_of(int sign, const Expr& expr) const {
    int64_t share = terms_[index_].coefficient;
    bool has_symbols = false;
    for (const Term& term : expr.terms()) {
      if (term.factors.empty()) continue;
      has_symbols = true;
      const Term* found = find(term.factors);
      if (found == nullptr || found->coefficient == Bounds::minus_infinity) return 0;
      const int64_t times = sign * (found->coefficient / term.coefficient);
      if ((times < 0) != (share < 0)) return 0;
      share = share < 0 ? std::max(share, times) : std::min(share, times);
    }
    return has_symbols ? share : 0;
  }

  // The term of others*factors.
  const Term* find(const std::vector<Atom>& factors) const {
    std::vector<Atom> wanted;
    std::ranges::merge(others_.factors, factors, std::back_inserter(wanted),
                       [](const Atom& a, const Atom& b) { return compare_atoms(a, b) < 0; });
    const auto before = [](const std::vector<Atom>& a, const std::vector<Atom>& b) {
      return compare_factors(a, b) < 0;
    };
    const auto found = std::ranges::lower_bound(terms_, wanted, before, &Term::factors);
    return found != terms_.end() && compare_factors(found->factors, wanted) == 0 ? &*found : nullptr;
  }

  // Replaces the atom if it is joined to what is present.
  bool replace(const Identity& identity) {
    const int64_t share = share_of(identity.sign, identity.present);
    if (share == 0) return false;
    // Not as one sum, in whose normal form they could be joined to the atom again.
    const auto added = unless_overflow([&] {
      return std::pair(share * (as_expr(others_) * identity.kept),
                       -identity.sign * share * (as_expr(others_) * identity.present));
    });
    if (!added) return false;
    terms_[index_].coefficient -= share;
    terms_.insert(terms_.end(), added->first.terms().begin(), added->first.terms().end());
    terms_.insert(terms_.end(), added->second.terms().begin(), added->second.terms().end());
    return true;
  }

  bool join_remainder() {
    const Expr& a = atom_->operands[0];
    const Expr& b = atom_->operands[1];
    const auto has_quotient = [](const Term& term) { return has_factor(term, AtomKind::floor_div); };
    const bool leaves_quotient = share_of(-1, a) != 0;
    if (leaves_quotient || std::ranges::any_of(terms_, has_quotient)) {
      const Expr multiple = b * floor_div(a, b);
      if (multiple.terms().size() != 1) return false;
      if (replace({1, multiple, a}) || (leaves_quotient && replace({-1, a, -multiple}))) return true;
    }
    return b.is_constant(2) && share_of(1, a) != 0 && replace({1, a, 2 * floor_div(a + 1, 2)});
  }

  // For an operand p, p - max(p, q) = min(0, p - q). The constant of p stays outside, so that x - max(x - 7, 0) becomes
  // min(7, x).
  bool join_operand() {
    for (const Expr& operand : atom_->operands) {
      const Expr p = operand - constant_part(operand);
      if (!vanishes(p)) continue;
      const std::optional<Expr> rest = unless_overflow([&] { return rest_below(p); });
      if (rest && size_of(*rest) <= atom_->size + std::ssize(atom_->operands) + 1 && replace({-1, p, -*rest}))
        return true;
    }
    return false;
  }

  // Whether all of p is taken from the sum: of 2*x - max(x, y) there would be left x + min(0, x - y).
  bool vanishes(const Expr& p) const {
    bool has_symbols = false;
    for (const Term& term : p.terms()) {
      if (term.factors.empty()) continue;
      has_symbols = true;
      const Term* found = find(term.factors);
      int64_t taken;
      if (found == nullptr || __builtin_mul_overflow(terms_[index_].coefficient, term.coefficient, &taken))
        return false;
      if (taken == Bounds::minus_infinity || found->coefficient != -taken) return false;
    }
    return has_symbols;
  }

  // p - max(p, q) as a minimum, p - min(p, q) as a maximum.
  Expr rest_below(const Expr& p) const {
    std::optional<Expr> rest;
    for (const Expr& operand : atom_->operands) {
      if (!rest)
        rest = p - operand;
      else
        rest = atom_->kind == AtomKind::max ? min(*rest, p - operand) : max(*rest, p - operand);
    }
    return *rest;
  }

  // min(p, q) + max(p + d, q + d) = p + q + d
  bool join_other_extremum() {
    const std::vector<Expr>& p = atom_->operands;
    if (p.size() != 2) return false;
    for (const Term& term : terms_) {
      if (term.factors.size() != others_.factors.size() + 1) continue;
      const std::optional<Term> other = divide_exactly({1, term.factors}, others_);
      if (!other || other->factors[0]->kind != opposite(atom_->kind)) continue;
      const std::vector<Expr>& q = other->factors[0]->operands;
      if (q.size() != 2) continue;
      const auto sum = unless_overflow([&] { return sum_of_extrema(p, q); });
      if (sum && *sum && replace({1, as_expr(*other), **sum})) return true;
    }
    return false;
  }

  static std::optional<Expr> sum_of_extrema(const std::vector<Expr>& p, const std::vector<Expr>& q) {
    for (const size_t i : {0, 1})
      if (q[0] - p[i] == q[1] - p[1 - i]) return q[0] + p[1 - i];
    return std::nullopt;
  }

  std::vector<Term>& terms_;
  size_t index_;
  const Atom atom_;
  const Term others_;
};

}  // namespace

bool join_terms(std::vector<Term>& terms) {
  // A product of many such atoms is left as it is: each would be tried beside the product of the others.
  constexpr auto most_in_product = 3;
  const auto joins = [](const Atom& atom) { return atom->kind == AtomKind::mod || is_extremum(atom->kind); };
  if (terms.size() < 2) return false;
  for (size_t i = 0; i < terms.size() && !Effort::is_spent(); ++i) {
    const auto count = std::ranges::count_if(terms[i].factors, joins);
    if (count == 0 || count > most_in_product) continue;
    const std::vector<Atom> factors = terms[i].factors;
    for (const Atom& atom : factors)
      if (joins(atom) && Joiner(terms, i, atom).join()) return true;
  }
  return false;
}

}  // namespace onnxc
