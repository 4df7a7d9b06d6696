#include "report/shape_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/node_pattern.h"
#include "support/diagnostics.h"
#include "support/list_text.h"
#include "support/text.h"

namespace onnxc {
namespace {

std::set<Symbol> input_symbols(const Graph& graph) {
  std::set<Symbol> symbols;
  for (const Value* input : graph.inputs)
    if (input->shape)
      for (const Expr& dim : *input->shape) symbols.merge(dim.symbols());
  return symbols;
}

}  // namespace

ShapeView::ShapeView(const Graph& graph, const ShapeRequest& request) : request_(request) {
  check_patterns("--node", request.nodes, {&graph});
  for (const auto& [name, size] : request.sizes) bind(graph, name, size);
}

bool ShapeView::shows(const Node& node) const { return shows_all() || fits_any(request_.nodes, node.origin); }

Shape ShapeView::at_sizes(const Shape& shape) const {
  Shape result;
  for (const Expr& dim : shape) result.push_back(at_sizes(dim));
  return result;
}

std::optional<bool> ShapeView::holds(const Guard& guard) const {
  const Expr left = at_sizes(guard.left), right = at_sizes(guard.right);
  if (!at_sizes(guard.condition).is_constant(1)) return std::nullopt;
  if (guard.kind == Guard::Kind::equal)
    return proven_equal(left, right)       ? std::optional(true)
           : proven_different(left, right) ? std::optional(false)
                                           : std::nullopt;
  return proven_at_least(left, right) ? std::optional(true)
         : proven_less(left, right)   ? std::optional(false)
                                      : std::nullopt;
}

// A dim whose legal sizes are multiples stands in the graph as its quotient.
void ShapeView::bind(const Graph& graph, const std::string& name, int64_t size) {
  const auto rule =
      std::ranges::find_if(graph.size_rules, [&](const SizeRule& each) { return each.symbol.name() == name; });
  const auto refuse = [&] {
    throw UsageError(fmt::format("--at {}={}: no input may have this size; {}", printable(name), size,
                                 rule != graph.size_rules.end() ? printable(rule->describe(), 1000) : "see --dim"));
  };
  std::set<std::string> known;  // in the order of their letters
  for (const Symbol& symbol : input_symbols(graph)) {
    const auto& division = symbol.info().division;
    const Symbol named = division ? *division->dividend.as_symbol() : symbol;
    known.insert(printable(named.name()));
    if (named.name() != name) continue;
    const int64_t divisor = division ? division->divisor : 1, rest = division ? division->rest : 0;
    const int64_t value = (size - rest) / divisor;
    const Bounds& bounds = symbol.info().bounds;
    if (size < rest || value * divisor + rest != size || value < bounds.minimum || value > bounds.maximum) refuse();
    values_.emplace(symbol, Expr(value));
    return;
  }
  if (rule != graph.size_rules.end()) return;  // which gives it by other symbols
  throw UsageError(fmt::format("--at {}: the inputs have no dim of this name; they have {}", quote(name),
                               known.empty() ? "none" : list_text(std::vector(known.begin(), known.end()))));
}

}  // namespace onnxc
