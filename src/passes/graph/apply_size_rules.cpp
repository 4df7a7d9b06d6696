#include "passes/graph/apply_size_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/expr/legal_sizes.h"
#include "passes/graph/infer_shapes.h"
#include "support/diagnostics.h"
#include "support/list_text.h"

namespace onnxc {
namespace {

using Replacements = std::map<Symbol, Expr>;

std::set<Symbol> input_symbols(const Graph& graph) {
  std::set<Symbol> symbols;
  for (const Value* input : graph.inputs)
    for (const Expr& dim : *input->shape) symbols.merge(dim.symbols());
  return symbols;
}

// The dim as the inputs first had it, for messages.
Symbol named_symbol(const Symbol& symbol) {
  const auto& division = symbol.info().division;
  return division ? *division->dividend.as_symbol() : symbol;
}

std::vector<SizeRule::Place> places(const Graph& graph, const Symbol& symbol) {
  std::vector<SizeRule::Place> result;
  for (size_t input = 0; input < graph.inputs.size(); ++input) {
    const Shape& shape = *graph.inputs[input]->shape;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis].symbols().contains(symbol)) result.push_back({input, axis});
  }
  return result;
}

// The sizes that all guards on one symbol allow.
struct Legal {
  LegalSizes sizes;
  std::vector<std::string> reasons;
};

void narrow(Legal& legal, const LegalSizes& sizes, const std::string& reason) {
  std::optional<LegalSizes> both = intersect(legal.sizes, sizes);
  if (!both || *both == legal.sizes) return;
  // A guard that says it all is the reason to name.
  legal.reasons.insert(*both == sizes ? legal.reasons.begin() : legal.reasons.end(), reason);
  legal.sizes = std::move(*both);
}

std::map<Symbol, Legal> legal_sizes_of_symbols(const Graph& graph) {
  const std::set<Symbol> inputs = input_symbols(graph);
  std::map<Symbol, Legal> result;
  for (const Guard& guard : graph.guards) {
    const Expr difference = guard.left - guard.right;
    const std::set<Symbol> symbols = difference.symbols();
    if (!guard.condition.is_constant(1)) continue;
    if (symbols.size() != 1 || !inputs.contains(*symbols.begin())) continue;
    const Symbol& symbol = *symbols.begin();
    const Condition condition = guard.kind == Guard::Kind::equal ? Condition::zero : Condition::nonnegative;
    std::optional<LegalSizes> sizes = legal_sizes(difference, condition, symbol);
    if (!sizes) continue;
    Legal& legal = result.try_emplace(symbol, Legal{LegalSizes{.bounds = symbol.info().bounds}, {}}).first->second;
    narrow(legal, *sizes, guard.reason);
    user_check(!legal.sizes.empty(), "no size of {} is legal: {}", named_symbol(symbol).name(),
               list_text(legal.reasons, "; "));
  }
  return result;
}

// The expression that replaces a symbol with these legal sizes; nothing when no single expression can.
std::optional<Expr> restricted(const Symbol& symbol, const LegalSizes& sizes) {
  if (sizes.bounds.minimum == sizes.bounds.maximum) return Expr(sizes.bounds.minimum);
  if (sizes.bounds == symbol.info().bounds) {
    if (sizes.residues.size() != 1 || sizes.period == 1) return std::nullopt;
    return sizes.period * Expr(Symbol::quotient(symbol, sizes.period, sizes.residues[0])) + sizes.residues[0];
  }
  // A range first; the remainder comes with the next round.
  if (symbol.info().division) return std::nullopt;
  return Expr(Symbol::dim(symbol.name(), sizes.bounds));
}

// s if `expr` is c*s + rest with c = 1 or -1 and s not in the rest; the s made last, whose input comes last.
std::optional<std::pair<Symbol, Expr>> solved(const Expr& expr, const std::set<Symbol>& inputs) {
  std::optional<std::pair<Symbol, Expr>> best;
  for (const Term& term : expr.terms()) {
    if (term.factors.size() != 1 || !term.factors[0]->symbol || std::abs(term.coefficient) != 1) continue;
    const Symbol& symbol = *term.factors[0]->symbol;
    const Expr value = -term.coefficient * (expr - Expr(term.coefficient) * Expr(symbol));
    if (!inputs.contains(symbol) || value.constant() || value.symbols().contains(symbol)) continue;
    if (!best || best->first.info().serial < symbol.info().serial) best.emplace(symbol, value);
  }
  return best;
}

bool stays_within(const Expr& value, const Bounds& bounds) {
  return (bounds.minimum == Bounds::minus_infinity || proven_at_least(value, bounds.minimum)) &&
         (bounds.maximum == Bounds::infinity || proven_at_least(bounds.maximum, value));
}

// E = D, and E = 2*D + 1: guards that give a symbol by others. The one that is found first is the only one returned,
// since it changes the others.
void find_equal(const Graph& graph, Replacements& replacements, std::vector<SizeRule>& rules) {
  const std::set<Symbol> inputs = input_symbols(graph);
  for (const Guard& guard : graph.guards) {
    const Expr difference = guard.left - guard.right;
    if (!guard.condition.is_constant(1)) continue;
    if (guard.kind != Guard::Kind::equal || difference.symbols().size() < 2) continue;
    auto equal = solved(difference, inputs);
    if (!equal || !std::ranges::includes(inputs, equal->second.symbols())) continue;
    if (!stays_within(equal->second, equal->first.info().bounds)) continue;
    replacements.emplace(equal->first, equal->second);
    rules.push_back(
        {named_symbol(equal->first), equal->second.to_string(), {guard.reason}, places(graph, equal->first)});
    return;
  }
}

// A later rule on the same dim says more than an earlier one.
void record(Graph& graph, std::vector<SizeRule> rules) {
  for (SizeRule& rule : rules) {
    auto same = std::ranges::find_if(graph.size_rules,
                                     [&](const SizeRule& other) { return other.symbol.name() == rule.symbol.name(); });
    if (same == graph.size_rules.end())
      graph.size_rules.push_back(std::move(rule));
    else
      *same = std::move(rule);
  }
}

// The legal sizes of the dim that a quotient belongs to.
LegalSizes of_named_symbol(const Symbol& symbol, LegalSizes sizes) {
  const auto& division = symbol.info().division;
  if (!division) return sizes;
  for (int64_t& residue : sizes.residues) residue = residue * division->divisor + division->rest;
  sizes.period *= division->divisor;
  auto scaled = [&](int64_t bound) {
    return bound == Bounds::infinity ? bound : bound * division->divisor + division->rest;
  };
  sizes.bounds = {scaled(sizes.bounds.minimum), scaled(sizes.bounds.maximum)};
  return sizes;
}

void replace_in_inputs(Graph& graph, const Replacements& replacements) {
  for (Value* input : graph.inputs)
    for (Expr& dim : *input->shape) dim = dim.substitute(replacements);
}

}  // namespace

bool narrow_by_guards(Graph& graph) {
  Replacements replacements;
  std::vector<SizeRule> rules;
  for (const auto& [symbol, legal] : legal_sizes_of_symbols(graph)) {
    rules.push_back(
        {named_symbol(symbol), of_named_symbol(symbol, legal.sizes).to_string(), legal.reasons, places(graph, symbol)});
    if (std::optional<Expr> value = restricted(symbol, legal.sizes)) replacements.emplace(symbol, *value);
  }
  if (replacements.empty()) find_equal(graph, replacements, rules);
  record(graph, std::move(rules));
  replace_in_inputs(graph, replacements);
  return !replacements.empty();
}

bool narrow_to_nonempty(Graph& graph, const std::set<Symbol>& symbols, const std::string& reason) {
  const std::set<Symbol> inputs = input_symbols(graph);
  Replacements replacements;
  std::vector<SizeRule> rules;
  for (const Symbol& symbol : symbols) {
    if (!inputs.contains(symbol) || symbol.info().bounds != Bounds{0, Bounds::infinity}) continue;
    if (symbol.info().division) continue;
    LegalSizes sizes;
    sizes.bounds.minimum = 1;
    rules.push_back({symbol,
                     sizes.to_string(),
                     {fmt::format("{} if {} may be 0; --dim {}=0..N keeps 0", reason, symbol.name(), symbol.name())},
                     places(graph, symbol)});
    replacements.emplace(symbol, *restricted(symbol, sizes));
  }
  record(graph, std::move(rules));
  replace_in_inputs(graph, replacements);
  return !replacements.empty();
}

void apply_size_rules(Graph& graph) {
  constexpr int most_rounds = 20;  // each but the last takes a symbol or some of its sizes away
  for (int round = 0; round < most_rounds && narrow_by_guards(graph); ++round) infer_shapes_again(graph);
}

}  // namespace onnxc
