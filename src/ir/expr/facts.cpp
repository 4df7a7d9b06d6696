#include "ir/expr/facts.h"

#include <algorithm>
#include <utility>

#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

constexpr int deepest = 6;  // parts of parts
// Longer or more facts say little and take long to look through.
constexpr int64_t longest_settled = 4;
constexpr size_t most_facts = 100;

bool is_nonnegative(const Atom& atom) { return atom->bounds.minimum >= 0; }

// Whether it takes long to simplify anew.
bool is_long(const Expr& expr) {
  constexpr int64_t most_atoms = 40;
  return size_of(expr) - std::ssize(expr.terms()) > most_atoms;
}

}  // namespace

void Facts::at_least(const Expr& a, const Expr& b) {
  unless_overflow([&] {
    const Expr difference = a - b;
    given_.push_back(difference);
    if (!is_long(difference)) add(difference, 0);
    return true;
  });
}

void Facts::equal(const Expr& a, const Expr& b) {
  at_least(a, b);
  at_least(b, a);
}

void Facts::add(const Expr& nonnegative, int depth) {
  const Expr fact = narrowed(nonnegative);
  if (fact.bounds().maximum < 0) exclude_each_other_ = true;
  if (fact.constant() || fact.bounds().minimum >= 0 || depth > deepest) return;
  if (is_long(fact) || facts_.size() >= most_facts) return;
  if (std::ranges::find(facts_, fact) != facts_.end()) return;
  facts_.push_back(fact);
  // min(a, b) >= k says it of a and of b, in a sum too.
  for (const Term& term : fact.terms()) {
    if (term.factors.size() != 1) continue;
    const Atom& atom = term.factors[0];
    if (atom->kind != (term.coefficient > 0 ? AtomKind::min : AtomKind::max)) continue;
    for (const Expr& operand : atom->operands) add(fact - as_expr(term) + term.coefficient * operand, depth + 1);
  }
  // From c*atoms + rest >= 0 follows atoms >= -rest/c.
  for (const Term& term : fact.terms()) {
    if (term.factors.empty() || term.coefficient <= 0) continue;
    const Bounds rest = (fact - as_expr(term)).bounds();
    if (rest.maximum != Bounds::infinity && rest.maximum != Bounds::minus_infinity)
      add_parts(term, -floor_divide(rest.maximum, term.coefficient), depth);
  }
}

// The product of the term's factors is at least `least`.
void Facts::add_parts(const Term& term, int64_t least, int depth) {
  if (term.factors.size() > 1) {
    if (least < 1 || !std::ranges::all_of(term.factors, is_nonnegative)) return;
    for (const Atom& factor : term.factors) add(as_expr(factor) - 1, depth + 1);
    return;
  }
  const AtomNode& atom = *term.factors[0];
  if (atom.kind == AtomKind::max) {
    const auto reaches = [&](const Expr& operand) { return operand.bounds().maximum >= least; };
    if (std::ranges::count_if(atom.operands, reaches) == 1)
      add(*std::ranges::find_if(atom.operands, reaches) - least, depth + 1);
  }
  if (atom.kind == AtomKind::floor_div && proven_at_least(atom.operands[1], 1))
    add(atom.operands[0] - least * atom.operands[1], depth + 1);
}

Expr Facts::narrowed(const Expr& expr) const { return narrower_.empty() ? expr : expr.substitute(narrower_); }

// Dims for which a fact gives narrower bounds than their own.
std::map<Symbol, Expr> Facts::narrower_dims() const {
  std::map<Symbol, Bounds> bounds;
  for (const Expr& fact : facts_) {
    // c*symbol + k >= 0
    const int64_t constant = constant_part(fact);
    if (std::ssize(fact.terms()) != (constant == 0 ? 1 : 2) || constant == Bounds::minus_infinity) continue;
    const Term& term = fact.terms()[0];
    if (term.factors.size() != 1 || term.coefficient == Bounds::minus_infinity) continue;
    const std::optional<Symbol>& symbol = term.factors[0]->symbol;
    if (!symbol || symbol->info().extent) continue;
    Bounds& range = bounds.try_emplace(*symbol, symbol->info().bounds).first->second;
    if (term.coefficient > 0)
      range.minimum = std::max(range.minimum, -floor_divide(constant, term.coefficient));
    else
      range.maximum = std::min(range.maximum, floor_divide(constant, -term.coefficient));
  }
  std::map<Symbol, Expr> result;
  for (const auto& [symbol, range] : bounds)
    if (!(range == symbol.info().bounds) && range.minimum <= range.maximum)
      result.emplace(symbol, Symbol::dim(symbol.name(), range));
  return result;
}

// min(a, b) becomes a if a <= b follows from the facts.
void Facts::settle_extrema() {
  for (const Expr& fact : std::vector<Expr>(facts_)) {
    if (std::ssize(fact.terms()) > longest_settled) continue;
    for (const Term& term : fact.terms()) {
      if (term.factors.size() != 1) continue;
      const Atom& atom = term.factors[0];
      if (atom->kind != AtomKind::min && atom->kind != AtomKind::max) continue;
      for (const Expr& operand : atom->operands) {
        const auto is_beyond = [&](const Expr& other) {
          return other == operand || (atom->kind == AtomKind::min ? follows(other, operand) : follows(operand, other));
        };
        if (std::ranges::all_of(atom->operands, is_beyond)) add(fact - as_expr(term) + term.coefficient * operand, 0);
      }
    }
  }
}

void Facts::replace(const std::map<Symbol, Expr>& replacements) {
  for (auto& [symbol, replacement] : narrower_) replacement = replacement.substitute(replacements);
  narrower_.insert(replacements.begin(), replacements.end());
  for (const Expr& fact : std::exchange(facts_, {})) add(fact, 0);
}

void Facts::narrow_symbols(const std::vector<Symbol>& axes) {
  constexpr int rounds = 3;  // what a narrower dim says may narrow another
  for (int round = 0; round < rounds; ++round) {
    const size_t before = facts_.size();
    settle_extrema();
    const std::map<Symbol, Expr> dims = narrower_dims();
    if (dims.empty() && facts_.size() == before) break;
    replace(dims);
  }
  if (narrower_.empty()) return;
  std::map<Symbol, Expr> narrower_axes;
  for (const Symbol& axis : axes) {
    const Expr extent = narrowed(*axis.info().extent).substitute(narrower_axes);
    if (!(extent == *axis.info().extent)) narrower_axes.emplace(axis, Symbol::axis(axis.name(), extent));
  }
  if (!narrower_axes.empty()) replace(narrower_axes);
}

bool Facts::follows(const Expr& a, const Expr& b) const {
  return unless_overflow([&] { return proven_at_least(a, b, facts_); }).value_or(false);
}

bool Facts::prove_at_least(const Expr& a, const Expr& b) const {
  return exclude_each_other_ || unless_overflow([&] { return prove_nonnegative(a - b); }).value_or(false);
}

bool Facts::prove_nonnegative(const Expr& d) const {
  if (d.bounds().minimum >= 0) return true;
  if (std::ranges::any_of(given_, [&](const Expr& given) { return (d - given).bounds().minimum >= 0; })) return true;
  if (proven_at_least(d, 0)) return true;
  if (is_long(d)) return false;
  return follows(narrowed(d), 0) || std::ranges::any_of(facts_, [&](const Expr& fact) { return follows(-1, fact); });
}

}  // namespace onnxc
