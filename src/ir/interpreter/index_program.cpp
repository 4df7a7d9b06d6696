#include "ir/interpreter/index_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/checked.h"

namespace onnxc {

int Slots::add(const Symbol& symbol, const Bounds& bounds) {
  const auto position = static_cast<int>(bounds_.size());
  positions_.emplace(symbol, position);
  bounds_.push_back(bounds);
  return position;
}

int Slots::position(const Symbol& symbol) const {
  auto found = positions_.find(symbol);
  if (found == positions_.end()) internal_error(fmt::format("'{}' has no value", symbol.name()));
  return found->second;
}

IndexProgram::IndexProgram(const Expr& expr, const Slots& slots, const std::map<Symbol, Expr>& dims)
    : IndexProgram(expr.substitute(dims), slots) {}

IndexProgram::IndexProgram(const Expr& bound, const Slots& slots) {
  for (const Term& term : bound.terms()) {
    const auto coefficient = static_cast<uint64_t>(term.coefficient);
    if (term.factors.empty()) {
      constant_ += coefficient;
    } else if (term.factors.size() == 1 && term.factors[0]->kind == AtomKind::symbol) {
      linear_.push_back({coefficient, slots.position(*term.factors[0]->symbol)});
    } else {
      Product product{coefficient, {}};
      for (const Atom& atom : term.factors) product.factors.push_back(compile(*atom, slots));
      products_.push_back(std::move(product));
    }
  }
}

IndexProgram::Factor IndexProgram::compile(const AtomNode& atom, const Slots& slots) {
  Factor factor{atom.kind, -1, {}};
  if (atom.kind == AtomKind::symbol) factor.slot = slots.position(*atom.symbol);
  for (const Expr& operand : atom.operands) factor.operands.push_back(IndexProgram(operand, slots));
  return factor;
}

int64_t IndexProgram::evaluate(const Factor& factor, const int64_t* slots) {
  if (factor.kind == AtomKind::symbol) return slots[factor.slot];
  int64_t result = factor.operands[0].evaluate(slots);
  for (size_t i = 1; i < factor.operands.size(); ++i) {
    const int64_t other = factor.operands[i].evaluate(slots);
    switch (factor.kind) {
      case AtomKind::floor_div:
        result = floor_divide(result, other);
        break;
      case AtomKind::mod:
        result = floor_modulo(result, other);
        break;
      case AtomKind::min:
        result = std::min(result, other);
        break;
      case AtomKind::max:
        result = std::max(result, other);
        break;
      case AtomKind::symbol:
        break;
    }
  }
  return result;
}

int64_t IndexProgram::evaluate(const int64_t* slots) const {
  uint64_t sum = constant_;
  for (const Linear& term : linear_) sum += term.coefficient * static_cast<uint64_t>(slots[term.slot]);
  for (const Product& product : products_) {
    uint64_t value = product.coefficient;
    for (const Factor& factor : product.factors) value *= static_cast<uint64_t>(evaluate(factor, slots));
    sum += value;
  }
  return static_cast<int64_t>(sum);
}

bool IndexProgram::is_within(int64_t extent, const Slots& slots) const {
  if (!products_.empty()) return false;
  // In double, which neither wraps nor rounds numbers that could pass.
  auto minimum = static_cast<double>(static_cast<int64_t>(constant_)), maximum = minimum;
  for (const Linear& term : linear_) {
    const Bounds& bounds = slots.bounds(term.slot);
    if (bounds.minimum == Bounds::minus_infinity || bounds.maximum == Bounds::infinity) return false;
    const auto coefficient = static_cast<double>(static_cast<int64_t>(term.coefficient));
    const double first = coefficient * static_cast<double>(bounds.minimum);
    const double last = coefficient * static_cast<double>(bounds.maximum);
    minimum += std::min(first, last);
    maximum += std::max(first, last);
  }
  return minimum >= 0 && maximum < static_cast<double>(extent);
}

}  // namespace onnxc
