#include "ir/expr/expr.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "ir/expr/bounds.h"
#include "ir/expr/effort.h"
#include "ir/expr/indicator.h"
#include "ir/expr/join.h"
#include "ir/expr/terms.h"
#include "support/checked.h"

namespace onnxc {
namespace {

uint64_t next_serial() {
  static std::atomic<uint64_t> serial = 0;
  return serial++;
}

void check_terms(int64_t number) {
  if (number > max_terms)
    throw SizeOfManyParts(fmt::format("the expression of a size has more than {} terms", max_terms), number);
}

bool term_before(const Term& a, const Term& b) { return compare_factors(a.factors, b.factors) < 0; }

// Adds up like terms of a sorted list, and drops those that vanish.
std::vector<Term> combine_like_terms(std::vector<Term> sorted) {
  std::vector<Term> result;
  for (Term& term : sorted) {
    if (!result.empty() && compare_factors(result.back().factors, term.factors) == 0)
      result.back().coefficient = checked_add(result.back().coefficient, term.coefficient);
    else
      result.push_back(std::move(term));
  }
  std::erase_if(result, [](const Term& term) { return term.coefficient == 0; });
  check_terms(std::ssize(result));
  return result;
}

void sort_terms(std::vector<Term>& terms) { std::ranges::sort(terms, term_before); }

std::vector<Term> normal_form(std::vector<Term> sorted) {
  const Effort effort;
  Effort::spend(std::ssize(sorted));
  std::vector<Term> terms = combine_like_terms(std::move(sorted));
  // Each join leaves fewer remainders or fewer terms; the limit is for what no model has.
  for (int64_t joins = 0; joins < max_joins && join_terms(terms); ++joins) {
    sort_terms(terms);
    terms = combine_like_terms(std::move(terms));
  }
  return terms;
}

Bounds atom_bounds(AtomKind kind, const std::vector<Expr>& operands) {
  Bounds a = operands[0].bounds();
  if (kind == AtomKind::floor_div) return floor_divide(a, operands[1].bounds());
  if (kind == AtomKind::mod) return floor_modulo(a, operands[1].bounds());
  for (size_t i = 1; i < operands.size(); ++i) {
    Bounds b = operands[i].bounds();
    a = kind == AtomKind::min ? Bounds{std::min(a.minimum, b.minimum), std::min(a.maximum, b.maximum)}
                              : Bounds{std::max(a.minimum, b.minimum), std::max(a.maximum, b.maximum)};
  }
  return a;
}

int64_t evaluate_atom(const AtomNode& atom, const std::map<Symbol, int64_t>& values) {
  if (atom.kind == AtomKind::symbol) {
    auto found = values.find(*atom.symbol);
    if (found == values.end()) internal_error(fmt::format("the symbol {} has no value", atom.symbol->name()));
    return found->second;
  }
  int64_t a = atom.operands[0].evaluate(values);
  if (atom.kind == AtomKind::floor_div) return floor_divide(a, atom.operands[1].evaluate(values));
  if (atom.kind == AtomKind::mod) return floor_modulo(a, atom.operands[1].evaluate(values));
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    int64_t b = atom.operands[i].evaluate(values);
    a = atom.kind == AtomKind::min ? std::min(a, b) : std::max(a, b);
  }
  return a;
}

Expr simplified(AtomKind kind, const std::vector<Expr>& operands) {
  if (kind == AtomKind::floor_div) return floor_div(operands[0], operands[1]);
  if (kind == AtomKind::mod) return mod(operands[0], operands[1]);
  Expr result = operands[0];
  for (const Expr& operand : operands) result = kind == AtomKind::min ? min(result, operand) : max(result, operand);
  return result;
}

Expr substitute_atom(const Atom& atom, const std::map<Symbol, Expr>& replacements) {
  if (atom->kind == AtomKind::symbol) {
    auto found = replacements.find(*atom->symbol);
    return found == replacements.end() ? as_expr(atom) : found->second;
  }
  std::vector<Expr> operands;
  for (const Expr& operand : atom->operands) operands.push_back(operand.substitute(replacements));
  return operands == atom->operands ? as_expr(atom) : simplified(atom->kind, operands);
}

Expr replace_quotients(const Expr& expr);

Expr replace_quotients(const AtomNode& atom) {
  std::vector<Expr> operands;
  for (const Expr& operand : atom.operands) operands.push_back(replace_quotients(operand));
  return simplified(atom.kind, operands);
}

// c*q is a multiple of the dividend if the divisor divides c, else a floor division that leaves no rest.
Expr replace_quotients(const Term& term) {
  int64_t coefficient = term.coefficient;
  Expr product = 1;
  for (const Atom& factor : term.factors) {
    if (!factor->symbol) {
      product *= replace_quotients(*factor);
    } else if (const auto& division = factor->symbol->info().division) {
      int64_t share = std::gcd(coefficient, division->divisor);
      coefficient /= share;
      const int64_t divisor = division->divisor / share;
      product *= floor_div(division->dividend, divisor) - division->rest / divisor;
    } else {
      product *= as_expr(factor);
    }
  }
  return coefficient * product;
}

Expr replace_quotients(const Expr& expr) {
  Expr sum;
  for (const Term& term : expr.terms()) sum += replace_quotients(term);
  return sum;
}

void collect_symbols(const Expr& expr, std::set<Symbol>& symbols) {
  for (const Term& term : expr.terms()) {
    for (const Atom& atom : term.factors) {
      if (atom->symbol) symbols.insert(*atom->symbol);
      for (const Expr& operand : atom->operands) collect_symbols(operand, symbols);
    }
  }
}

}  // namespace

Symbol Symbol::dim(std::string name, Bounds bounds) {
  return Symbol(std::make_shared<SymbolInfo>(SymbolInfo{std::move(name), next_serial(), bounds, nullptr, nullptr}));
}

Symbol Symbol::axis(std::string name, const Expr& extent) {
  int64_t most = extent.bounds().maximum;
  Bounds bounds{0, most == Bounds::infinity ? most : std::max<int64_t>(most - 1, 0)};
  return Symbol(std::make_shared<SymbolInfo>(
      SymbolInfo{std::move(name), next_serial(), bounds, std::make_shared<const Expr>(extent), nullptr}));
}

Symbol Symbol::index(std::string name) { return dim(std::move(name), Bounds{}); }

Symbol Symbol::quotient(const Symbol& dividend, int64_t divisor, int64_t rest) {
  internal_check(divisor > 0 && rest >= 0 && rest < divisor, "a remainder of a positive divisor");
  // A quotient of a quotient divides the first dividend.
  if (const auto& first = dividend.info().division)
    return quotient(*first->dividend.as_symbol(), checked_multiply(divisor, first->divisor),
                    checked_add(checked_multiply(rest, first->divisor), first->rest));
  Bounds bounds =
      floor_divide(add(dividend.info().bounds, {divisor - 1 - rest, divisor - 1 - rest}), {divisor, divisor});
  bounds.maximum = floor_divide(add(dividend.info().bounds, {-rest, -rest}), {divisor, divisor}).maximum;
  return Symbol(std::make_shared<SymbolInfo>(
      SymbolInfo{fmt::format("{}//{}", dividend.name(), divisor), next_serial(), bounds, nullptr,
                 std::make_shared<const ExactDivision>(ExactDivision{Expr(dividend), divisor, rest})}));
}

std::strong_ordering Symbol::operator<=>(const Symbol& other) const {
  if (info_ == other.info_) return std::strong_ordering::equal;
  auto by_name = name() <=> other.name();
  return by_name != 0 ? by_name : info_->serial <=> other.info_->serial;
}

std::strong_ordering compare_atoms(const Atom& a, const Atom& b) {
  if (a == b) return std::strong_ordering::equal;
  if (a->kind != b->kind) return a->kind <=> b->kind;
  if (a->kind == AtomKind::symbol) return *a->symbol <=> *b->symbol;
  Effort::spend(1);
  return a->operands <=> b->operands;
}

std::strong_ordering compare_factors(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  if (a.size() != b.size()) return b.size() <=> a.size();
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(), compare_atoms);
}

std::strong_ordering operator<=>(const Expr& a, const Expr& b) {
  auto compare_terms = [](const Term& x, const Term& y) {
    auto by_factors = compare_factors(x.factors, y.factors);
    return by_factors != 0 ? by_factors : x.coefficient <=> y.coefficient;
  };
  return std::lexicographical_compare_three_way(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                                                compare_terms);
}

int64_t constant_part(const Expr& expr) {
  return !expr.terms().empty() && expr.terms().back().factors.empty() ? expr.terms().back().coefficient : 0;
}

int64_t size_of(const Expr& expr) {
  int64_t size = std::ssize(expr.terms());
  for (const Term& term : expr.terms())
    for (const Atom& factor : term.factors) size += factor->size;
  return size;
}

std::optional<Term> divide_exactly(const Term& a, const Term& b) {
  if (b.coefficient == 0 || a.factors.size() < b.factors.size()) return std::nullopt;
  if (b.coefficient == -1) {
    if (a.coefficient == Bounds::minus_infinity) return std::nullopt;
  } else if (a.coefficient % b.coefficient != 0) {
    return std::nullopt;
  }
  Term result{a.coefficient / b.coefficient, {}};
  auto less = [](const Atom& x, const Atom& y) { return compare_atoms(x, y) < 0; };
  std::ranges::set_difference(a.factors, b.factors, std::back_inserter(result.factors), less);
  if (result.factors.size() + b.factors.size() != a.factors.size()) return std::nullopt;
  return result;
}

Term common_divisor(const Term& a, const Term& b) {
  Term result{1, {}};
  // The magnitude of the least int64 has no int64: such a coefficient stays as it is.
  if (a.coefficient != Bounds::minus_infinity && b.coefficient != Bounds::minus_infinity)
    result.coefficient = std::gcd(a.coefficient, b.coefficient);
  auto less = [](const Atom& x, const Atom& y) { return compare_atoms(x, y) < 0; };
  std::ranges::set_intersection(a.factors, b.factors, std::back_inserter(result.factors), less);
  return result;
}

Expr make_atom(AtomKind kind, std::vector<Expr> operands) {
  int64_t depth = 1;
  int64_t size = 1;
  for (const Expr& operand : operands) {
    size += size_of(operand);
    for (const Term& term : operand.terms())
      for (const Atom& factor : term.factors) depth = std::max(depth, factor->depth + 1);
  }
  if (depth > max_atom_depth || size > max_atom_size)
    throw SizeOfManyParts(
        fmt::format("the expression of a size nests {} deep with {} parts; at most {} and {} are supported; it is "
                    "shorter if the inputs' dims have values or ranges (--dim N=4, --dim N=1..8)",
                    depth, size, max_atom_depth, max_atom_size),
        size);
  Bounds bounds = atom_bounds(kind, operands);
  return as_expr(
      std::make_shared<const AtomNode>(AtomNode{kind, std::nullopt, std::move(operands), bounds, depth, size}));
}

Expr::Expr(int64_t value) {
  if (value != 0) terms_.push_back({value, {}});
}

Expr::Expr(const Symbol& symbol)
    : terms_{{1,
              {std::make_shared<const AtomNode>(AtomNode{AtomKind::symbol, symbol, {}, symbol.info().bounds, 1, 1})}}} {
}

Expr Expr::from_terms(std::vector<Term> terms) {
  const Effort effort;
  for (Term& term : terms) {
    Effort::spend(std::ssize(term.factors));
    join_indicators(term);
    std::ranges::sort(term.factors, [](const Atom& a, const Atom& b) { return compare_atoms(a, b) < 0; });
  }
  sort_terms(terms);
  Expr result;
  result.terms_ = normal_form(std::move(terms));
  return result;
}

std::optional<int64_t> Expr::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].factors.empty()) return terms_[0].coefficient;
  return std::nullopt;
}

std::optional<Symbol> Expr::as_symbol() const {
  if (terms_.size() != 1 || terms_[0].coefficient != 1 || terms_[0].factors.size() != 1) return std::nullopt;
  return terms_[0].factors[0]->symbol;
}

Bounds Expr::bounds() const {
  Bounds sum{0, 0};
  for (const Term& term : terms_) {
    Bounds product{term.coefficient, term.coefficient};
    for (const Atom& atom : term.factors) product = multiply(product, atom->bounds);
    sum = add(sum, product);
  }
  return sum;
}

std::set<Symbol> Expr::symbols() const {
  std::set<Symbol> symbols;
  collect_symbols(*this, symbols);
  return symbols;
}

Expr Expr::substitute(const std::map<Symbol, Expr>& replacements) const {
  Expr sum;
  for (const Term& term : terms_) {
    Expr product = term.coefficient;
    for (const Atom& atom : term.factors) product *= substitute_atom(atom, replacements);
    sum += product;
  }
  return sum;
}

Expr Expr::without_quotients() const {
  const std::set<Symbol> used = symbols();
  auto is_quotient = [](const Symbol& symbol) { return symbol.info().division != nullptr; };
  return std::ranges::any_of(used, is_quotient) ? replace_quotients(*this) : *this;
}

int64_t Expr::evaluate(const std::map<Symbol, int64_t>& values) const {
  int64_t sum = 0;
  for (const Term& term : terms_) {
    int64_t product = term.coefficient;
    for (const Atom& atom : term.factors) product = checked_multiply(product, evaluate_atom(*atom, values));
    sum = checked_add(sum, product);
  }
  return sum;
}

// Most sizes are numbers; their sums and products are found without their normal form.
Expr operator+(const Expr& a, const Expr& b) {
  if (a.terms_.empty()) return b;
  if (b.terms_.empty()) return a;
  if (const std::optional<int64_t> left = a.constant(), right = b.constant(); left && right)
    return checked_add(*left, *right);
  std::vector<Term> merged;
  merged.reserve(a.terms_.size() + b.terms_.size());
  std::ranges::merge(a.terms_, b.terms_, std::back_inserter(merged), term_before);
  Expr sum;
  sum.terms_ = normal_form(std::move(merged));
  return sum;
}

Expr operator-(const Expr& a, const Expr& b) { return a + -b; }

Expr operator*(const Expr& a, const Expr& b) {
  if (a.terms_.empty() || b.is_constant(1)) return a;
  if (b.terms_.empty() || a.is_constant(1)) return b;
  if (const std::optional<int64_t> left = a.constant(), right = b.constant(); left && right)
    return checked_multiply(*left, *right);
  check_terms(std::ssize(a.terms_) * std::ssize(b.terms_));
  const Effort effort;
  Effort::spend(std::ssize(a.terms_) * std::ssize(b.terms_));
  std::vector<Term> terms;
  for (const Term& x : a.terms_) {
    for (const Term& y : b.terms_) {
      Term term{checked_multiply(x.coefficient, y.coefficient), x.factors};
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      terms.push_back(std::move(term));
    }
  }
  return Expr::from_terms(std::move(terms));
}

Expr product(const Shape& dims) {
  Expr result = 1;
  for (const Expr& dim : dims) result *= dim;
  return result;
}

std::optional<std::vector<int64_t>> constant_dims(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Expr& dim : shape) {
    auto value = dim.constant();
    if (!value) return std::nullopt;
    dims.push_back(*value);
  }
  return dims;
}

}  // namespace onnxc
