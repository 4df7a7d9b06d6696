#include "ir/expr/solve.h"

#include <algorithm>

#include "ir/expr/terms.h"

namespace onnxc {
namespace {

// Which s to look for: the least with f(s) >= target, or the greatest with f(s) <= target.
enum class Side { least, greatest };

Side other_side(Side side) { return side == Side::least ? Side::greatest : Side::least; }

bool contains(const Expr& expr, const Symbol& symbol) { return expr.symbols().contains(symbol); }

// expr = factor*atom + rest, and only the atom contains the symbol, once.
struct Isolated {
  Atom atom;
  Expr factor;
  Expr rest;
};

std::optional<Isolated> isolate(const Expr& expr, const Symbol& symbol) {
  std::optional<Isolated> result;
  for (const Term& term : expr.terms()) {
    Term known{term.coefficient, {}};
    Atom found;
    for (const Atom& factor : term.factors) {
      if (!contains(as_expr(factor), symbol))
        known.factors.push_back(factor);
      else if (found)
        return std::nullopt;
      else
        found = factor;
    }
    if (!result) result = Isolated{};
    if (!found)
      result->rest += as_expr(known);
    else if (result->atom && compare_atoms(result->atom, found) != 0)
      return std::nullopt;
    else
      result->atom = found, result->factor += as_expr(known);
  }
  return result && result->atom ? result : std::nullopt;
}

std::optional<Expr> invert(const Expr& expr, const Symbol& symbol, const Expr& target, Side side);

// Inverts the one operand that contains the symbol. Only max(x, c) <= target and min(x, c) >= target say the same of x.
std::optional<Expr> invert_extremum(const AtomNode& atom, const Symbol& symbol, const Expr& target, Side side) {
  if (side != (atom.kind == AtomKind::max ? Side::greatest : Side::least)) return std::nullopt;
  auto has_symbol = [&](const Expr& operand) { return contains(operand, symbol); };
  if (std::ranges::count_if(atom.operands, has_symbol) != 1) return std::nullopt;
  return invert(*std::ranges::find_if(atom.operands, has_symbol), symbol, target, side);
}

// x//b >= target means x >= b*target, and x//b <= target means x <= b*target + b - 1.
std::optional<Expr> invert_floor_div(const AtomNode& atom, const Symbol& symbol, const Expr& target, Side side) {
  const Expr& b = atom.operands[1];
  if (contains(b, symbol) || !proven_at_least(b, 1)) return std::nullopt;
  return invert(atom.operands[0], symbol, side == Side::least ? b * target : b * target + b - 1, side);
}

std::optional<Expr> invert(const Expr& expr, const Symbol& symbol, const Expr& target, Side side) {
  std::optional<Isolated> parts = isolate(expr, symbol);
  if (!parts) return std::nullopt;
  Expr factor = parts->factor;
  if (factor.bounds().maximum < 0)
    side = other_side(side);
  else if (proven_at_least(factor, 0))
    factor = max(factor, 1);  // if the factor is 0 at run time, any value fits or none does
  else
    return std::nullopt;
  Expr difference = target - parts->rest;
  Expr quotient = side == Side::least ? ceil_div(difference, factor) : floor_div(difference, factor);
  switch (parts->atom->kind) {
    case AtomKind::symbol:
      return quotient;
    case AtomKind::floor_div:
      return invert_floor_div(*parts->atom, symbol, quotient, side);
    case AtomKind::min:
    case AtomKind::max:
      return invert_extremum(*parts->atom, symbol, quotient, side);
    case AtomKind::mod:
      break;
  }
  return std::nullopt;
}

// The least s of 16*(s//16) and the greatest of 16*((s + 15)//16) are multiples of 16, as the size is.
Side preferred_side(const Expr& size) {
  for (const Term& term : size.terms())
    for (const Atom& atom : term.factors)
      if (atom->kind == AtomKind::floor_div && constant_part(atom->operands[0]) == 0) return Side::least;
  return Side::greatest;
}

enum class Kind { bare, linear, one_of_several };

Kind kind_of(const Expr& size, const Symbol& symbol) {
  if (size.as_symbol() == symbol) return Kind::bare;
  std::optional<Isolated> parts = isolate(size, symbol);
  return parts && parts->atom->symbol ? Kind::linear : Kind::one_of_several;
}

Expr clamp(Expr value, const Bounds& bounds) {
  if (bounds.minimum != Bounds::minus_infinity) value = max(value, bounds.minimum);
  if (bounds.maximum != Bounds::infinity) value = min(value, bounds.maximum);
  return value;
}

std::optional<Expr> solve(const Expr& size, const Symbol& symbol, const Expr& observed, Kind kind) {
  Side preferred = preferred_side(size);
  for (Side side : {preferred, other_side(preferred)}) {
    auto value = unless_overflow([&] { return invert(size, symbol, observed, side); });
    if (!value || !*value) continue;
    // The s that fit are an interval with this end: if that is out of the symbol's bounds, others may be within.
    return kind == Kind::one_of_several ? clamp(**value, symbol.info().bounds) : **value;
  }
  return std::nullopt;
}

class Solver {
 public:
  explicit Solver(const std::vector<InputDim>& dims) : dims_(dims), defines_(dims.size(), false) {
    for (const InputDim& dim : dims) unknown_.merge(dim.size.symbols());
  }

  DimSolution run() {
    while (bind_next()) {
    }
    for (size_t i = 0; i < dims_.size(); ++i)
      if (!defines_[i]) solution_.checks.push_back({dims_[i].size, dims_[i].input, dims_[i].axis});
    for (const Symbol& symbol : unknown_) solution_.errors.push_back(error(symbol));
    return std::move(solution_);
  }

 private:
  struct Candidate {
    Kind kind;
    size_t dim;
    Binding binding;
  };

  // Binds the symbol that is surest to be found, and of those the first in the order of the inputs.
  bool bind_next() {
    std::optional<Candidate> best;
    for (size_t i = 0; i < dims_.size(); ++i) {
      auto candidate = solve_dim(i);
      if (candidate && (!best || candidate->kind < best->kind)) best = std::move(candidate);
    }
    if (!best) return false;
    unknown_.erase(best->binding.symbol);
    defines_[best->dim] = best->kind == Kind::bare;
    solution_.bindings.push_back(std::move(best->binding));
    return true;
  }

  std::optional<Candidate> solve_dim(size_t index) const {
    const InputDim& dim = dims_[index];
    std::optional<Symbol> symbol;
    for (const Symbol& candidate : dim.size.symbols()) {
      if (!unknown_.contains(candidate)) continue;
      if (symbol) return std::nullopt;
      symbol = candidate;
    }
    if (!symbol) return std::nullopt;
    Kind kind = kind_of(dim.size, *symbol);
    auto value = solve(dim.size, *symbol, solution_.observed, kind);
    if (!value) return std::nullopt;
    return Candidate{kind, index, {*symbol, dim.input, dim.axis, *value}};
  }

  std::string error(const Symbol& symbol) const {
    for (const InputDim& dim : dims_)
      if (contains(dim.size, symbol))
        return fmt::format(
            "input `{}`, dim {}: {} cannot be computed from the size, which the model gives as `{}`, nor from another "
            "dim; give it a value with --dim {}=...",
            dim.input_name, dim.axis, symbol.name(), dim.size.to_string(), symbol.name());
    internal_error("an unknown symbol occurs in a dim");
  }

  const std::vector<InputDim>& dims_;
  std::vector<bool> defines_;
  std::set<Symbol> unknown_;
  DimSolution solution_{.observed = Symbol::dim("size"), .bindings = {}, .checks = {}, .errors = {}};
};

}  // namespace

DimSolution solve_dims(const std::vector<InputDim>& dims) { return Solver(dims).run(); }

}  // namespace onnxc
