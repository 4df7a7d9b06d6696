// Proofs about expressions: is d >= 0 for every value of its symbols?
//
// Method: when the bounds do not settle it, one atom t of d = K*t + R, with K of proven sign, is replaced by a bound of
// t that makes d smaller or equal. The question is asked of the result:
//   axis w:      0 <= w <= extent - 1          dim with a finite bound: that bound
//   x % b:       0 <= x%b <= b - 1, or x - b*(x//b)
//   x // b:      x - b + 1 <= b*(x//b) <= x
//   min, max:    one of the operands, or each of them
// Given facts that are at least 0, d >= 0 also follows from d - fact >= 0. Every step is sound wherever it stops; a
// budget of steps bounds the time, and Effort that of proofs within proofs. A statement that is not proven may still be
// true.
#include <algorithm>
#include <numeric>
#include <span>

#include "ir/expr/effort.h"
#include "ir/expr/expr.h"
#include "ir/expr/facts.h"
#include "ir/expr/terms.h"

namespace onnxc {
namespace {

class Prover {
 public:
  Prover() = default;
  enum class First { divisions, axes };
  Prover(std::span<const Expr> facts, First first)
      : facts_(facts), rank_of_axis_(first == First::axes ? 0 : usual_rank_of_axis), steps_left_(80) {}

  bool nonnegative(const Expr& d) {
    if (d.bounds().minimum >= 0) return true;
    if (d.bounds().maximum < 0 || std::ssize(d.terms()) > longest) return false;
    if (--steps_left_ < 0 || Effort::is_spent()) return false;
    const auto settles = [&](const Expr& fact) {
      const int64_t times = times_in(fact, d);
      return times > 0 && (d - times * fact).bounds().minimum >= 0;
    };
    if (std::ranges::any_of(facts_, settles)) return true;
    std::optional<Choice> choice = choose(d);
    return (choice && relax(*choice)) || follows_from_facts(d);
  }

 private:
  // d = factor*atom + rest
  struct Choice {
    Atom atom;
    Expr factor;
    Expr rest;
    bool factor_nonnegative;
    int rank;
  };

  enum class SignBy { bounds, proof };

  // How many times the fact may be taken from d so that a term of both becomes less in d; 0 if they share none.
  static int64_t times_in(const Expr& fact, const Expr& d) {
    for (const Term& term : d.terms())
      for (const Term& other : fact.terms())
        if (!term.factors.empty() && term.coefficient != Bounds::minus_infinity &&
            (other.coefficient < 0) == (term.coefficient < 0) && compare_factors(other.factors, term.factors) == 0)
          return std::max<int64_t>(term.coefficient / other.coefficient, 1);
    return 0;
  }

  // Two facts at most are taken together.
  bool follows_from_facts(const Expr& d) {
    if (facts_taken_ == 2) return false;
    ++facts_taken_;
    const bool follows = std::ranges::any_of(facts_, [&](const Expr& fact) {
      const int64_t times = times_in(fact, d);
      if (times == 0) return false;
      const Expr rest = d - times * fact;
      return rest.terms().size() <= d.terms().size() && nonnegative(rest);
    });
    --facts_taken_;
    return follows;
  }

  // The atom to replace: exact case distinctions first, then what loses least; dims come last.
  std::optional<Choice> choose(const Expr& d) {
    std::vector<Atom> dims, others;
    for (const Term& term : d.terms()) {
      for (const Atom& atom : term.factors) {
        auto& atoms = atom->symbol && !atom->symbol->info().extent ? dims : others;
        auto same = [&](const Atom& seen) { return compare_atoms(seen, atom) == 0; };
        if (std::ranges::none_of(atoms, same)) atoms.push_back(atom);
      }
    }
    for (const auto& atoms : {others, dims})
      for (SignBy method : {SignBy::bounds, SignBy::proof})
        if (auto choice = choose_among(atoms, d, method)) return choice;
    return std::nullopt;
  }

  std::optional<Choice> choose_among(const std::vector<Atom>& atoms, const Expr& d, SignBy method) {
    std::optional<Choice> best;
    for (const Atom& atom : atoms) {
      Choice choice = split(d, atom);
      std::optional<bool> nonnegative_factor = sign(choice.factor, method);
      if (!nonnegative_factor) continue;
      choice.factor_nonnegative = *nonnegative_factor;
      choice.rank = rank(choice);
      if (choice.rank < unusable && (!best || choice.rank < best->rank || goes_first(choice, *best)))
        best = std::move(choice);
    }
    return best;
  }

  // True for factor >= 0, false for factor <= 0, nothing when neither is known.
  std::optional<bool> sign(const Expr& factor, SignBy method) {
    Bounds bounds = factor.bounds();
    if (bounds.minimum >= 0) return true;
    if (bounds.maximum <= 0) return false;
    if (method == SignBy::bounds) return std::nullopt;
    if (nonnegative(factor)) return true;
    return nonnegative(-factor) ? std::optional(false) : std::nullopt;
  }

  static Choice split(const Expr& d, const Atom& atom) {
    std::vector<Term> with, without;
    for (const Term& term : d.terms()) {
      if (auto ratio = divide_exactly(term, {1, {atom}}))
        with.push_back(*ratio);
      else
        without.push_back(term);
    }
    return {atom, Expr::from_terms(std::move(with)), Expr::from_terms(std::move(without)), false, 0};
  }

  static constexpr int unusable = 100;

  int rank(const Choice& choice) const {
    const AtomNode& atom = *choice.atom;
    switch (atom.kind) {
      case AtomKind::min:
        return choice.factor_nonnegative ? 0 : 4;
      case AtomKind::max:
        return choice.factor_nonnegative ? 4 : 0;
      case AtomKind::mod:
      case AtomKind::floor_div:
        return proven_positive(atom.operands[1], as_expr(choice.atom)) ? 1 : unusable;
      case AtomKind::symbol:
        break;
    }
    if (atom.symbol->info().extent) return rank_of_axis_;
    bool finite = choice.factor_nonnegative ? atom.bounds.minimum != Bounds::minus_infinity
                                            : atom.bounds.maximum != Bounds::infinity;
    return finite ? 3 : unusable;
  }

  static bool is_axis(const Choice& choice) { return choice.atom->symbol && choice.atom->symbol->info().extent; }

  // Decides between atoms of one rank: an axis made later may have an extent that names an earlier one, and what
  // replaces the deeper of two atoms may cancel with the other.
  static bool goes_first(const Choice& a, const Choice& b) {
    if (a.rank != b.rank) return false;
    if (is_axis(a) && is_axis(b)) return a.atom->symbol->info().serial > b.atom->symbol->info().serial;
    return a.atom->depth > b.atom->depth;
  }

  bool relax(const Choice& choice) {
    const AtomNode& atom = *choice.atom;
    switch (atom.kind) {
      case AtomKind::symbol:
        return nonnegative(choice.factor * symbol_bound(choice) + choice.rest);
      case AtomKind::mod:
        return relax_mod(choice);
      case AtomKind::floor_div:
        return relax_floor_div(choice);
      case AtomKind::min:
      case AtomKind::max:
        break;
    }
    auto holds = [&](const Expr& operand) { return nonnegative(choice.factor * operand + choice.rest); };
    bool each = (atom.kind == AtomKind::min) == choice.factor_nonnegative;
    return each ? std::ranges::all_of(atom.operands, holds) : std::ranges::any_of(atom.operands, holds);
  }

  static Expr symbol_bound(const Choice& choice) {
    const SymbolInfo& info = choice.atom->symbol->info();
    if (choice.factor_nonnegative) return info.bounds.minimum;
    return info.extent ? *info.extent - 1 : Expr(info.bounds.maximum);
  }

  bool relax_mod(const Choice& choice) {
    const Expr& x = choice.atom->operands[0];
    const Expr& b = choice.atom->operands[1];
    Expr bound = choice.factor_nonnegative ? Expr(0) : b - 1;
    return nonnegative(choice.factor * bound + choice.rest) ||
           nonnegative(choice.factor * (x - b * floor_div(x, b)) + choice.rest);
  }

  // s*d = e*b*(x//b) + s*rest, with an s >= 1 that makes e integral; and d >= 0 follows from s*d >= 1 - s.
  bool relax_floor_div(const Choice& choice) {
    const Expr& x = choice.atom->operands[0];
    const Expr& b = choice.atom->operands[1];
    Expr s = 1;
    std::optional<Expr> e = exact_quotient(choice.factor, b);
    if (!e) {
      s = as_expr(multiplier(choice.factor, b));
      e = exact_quotient(s * choice.factor, b);
    }
    if (!e) return false;
    Expr bound = choice.factor_nonnegative ? x - b + 1 : x;
    return nonnegative(*e * bound + s * choice.rest + s - 1);
  }

  // The least s for which b divides s*factor, for constants; else b itself, when that is one term.
  static Term multiplier(const Expr& factor, const Expr& b) {
    if (factor.constant() && b.constant())
      return {*b.constant() / common_divisor(factor.terms()[0], b.terms()[0]).coefficient, {}};
    return b.terms().size() == 1 ? b.terms()[0] : Term{1, {}};
  }

  static constexpr int64_t longest = 50;  // terms: longer sums are left to their bounds
  static constexpr int usual_rank_of_axis = 2;
  std::span<const Expr> facts_ = {};
  int rank_of_axis_ = usual_rank_of_axis;
  int steps_left_ = 40;
  int facts_taken_ = 0;
};

bool nonnegative(const Expr& d) { return Prover().nonnegative(d); }

// a - b >= least
bool differs_by(const Expr& a, const Expr& b, int64_t least) {
  const Effort effort;
  return !Effort::is_spent() && unless_overflow([&] { return nonnegative(a - b - least); }).value_or(false);
}

// d and k*x have the same remainder by g: 2*D + 1 is never 0.
bool never_zero_by_divisor(const Expr& d) {
  int64_t divisor = 0;
  for (const Term& term : d.terms()) {
    if (term.coefficient == Bounds::minus_infinity) return false;
    if (!term.factors.empty()) divisor = std::gcd(divisor, term.coefficient);
  }
  return divisor > 1 && constant_part(d) % divisor != 0;
}

}  // namespace

bool proven_positive(const Expr& b, const Expr& scope) {
  if (proven_at_least(b, 1)) return true;
  if (b.terms().size() != 1 || b.terms()[0].coefficient < 0) return false;
  // A product of non-negative factors that is at least 1 has no factor 0.
  std::vector<Atom> positive;
  for (const Symbol& symbol : scope.symbols()) {
    const auto& extent = symbol.info().extent;
    if (!extent) continue;
    if (*extent == b) return true;
    if (extent->terms().size() != 1 || extent->terms()[0].coefficient < 0) continue;
    const auto& factors = extent->terms()[0].factors;
    auto at_least_zero = [](const Atom& atom) { return atom->bounds.minimum >= 0; };
    if (std::ranges::all_of(factors, at_least_zero)) positive.insert(positive.end(), factors.begin(), factors.end());
  }
  return std::ranges::all_of(b.terms()[0].factors, [&](const Atom& factor) {
    return factor->bounds.minimum >= 1 ||
           std::ranges::any_of(positive, [&](const Atom& other) { return compare_atoms(factor, other) == 0; });
  });
}

bool proven_at_least(const Expr& a, const Expr& b) {
  if (a.bounds().minimum >= b.bounds().maximum) return true;
  return differs_by(a, b, 0);
}

bool proven_less(const Expr& a, const Expr& b) {
  if (a.bounds().maximum < b.bounds().minimum) return true;
  return differs_by(b, a, 1);
}

bool proven_at_least(const Expr& a, const Expr& b, std::span<const Expr> facts) {
  const auto proves = [&](const Expr& d) {
    return Prover(facts, Prover::First::divisions).nonnegative(d) || Prover(facts, Prover::First::axes).nonnegative(d);
  };
  return unless_overflow([&] { return proves(a - b); }).value_or(false);
}

bool proven_equal(const Expr& a, const Expr& b) { return a == b || (proven_at_least(a, b) && proven_at_least(b, a)); }

std::optional<std::vector<std::optional<size_t>>> axes_but_ones(const Shape& shape, const Shape& other) {
  std::vector<std::optional<size_t>> axes;
  size_t at = 0;
  const auto skip_ones = [&] {
    while (at < other.size() && other[at].is_constant(1)) ++at;
  };
  for (const Expr& extent : shape) {
    if (extent.is_constant(1)) {
      axes.emplace_back();
      continue;
    }
    skip_ones();
    if (at == other.size() || !proven_equal(other[at], extent)) return std::nullopt;
    axes.emplace_back(at++);
  }
  skip_ones();
  return at == other.size() ? std::optional(axes) : std::nullopt;
}

bool proven_different(const Expr& a, const Expr& b) {
  if (a == b) return false;
  if (proven_less(a, b) || proven_less(b, a)) return true;
  return unless_overflow([&] { return never_zero_by_divisor(a - b); }).value_or(false);
}

}  // namespace onnxc
