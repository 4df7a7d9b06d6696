#include "codegen/nests/loop_transforms.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

bool contains(const Atom& atom, const Symbol& symbol) {
  if (atom->kind == AtomKind::symbol) return *atom->symbol == symbol;
  return std::ranges::any_of(atom->operands, [&](const Expr& operand) { return operand.symbols().contains(symbol); });
}

bool can_merge(const FlatLoop& outer, const FlatLoop& inner, const std::vector<FlatLoop>& loops, const FlatNest& nest) {
  for (const FlatLoop& loop : loops)
    if (loop.extent.symbols().contains(outer.symbol) || loop.extent.symbols().contains(inner.symbol)) return false;
  bool result = true;
  for_each_expr(nest, [&](const Expr& expr) {
    if (!result) return;
    const std::optional<Expr> step = coefficient(expr, inner.symbol), stride = coefficient(expr, outer.symbol);
    result = step && stride && proven_equal(*stride, *step * inner.extent);
  });
  return result;
}

// A dynamic extent in estimates.
constexpr int64_t unknown_extent = 64;

// The step of a loop in memory, with dynamic dims taken for what they may be; nothing if it is not known.
std::optional<int64_t> estimated_step(const Expr& offset, const FlatLoop& loop) {
  const std::optional<Expr> step = coefficient(offset, loop.symbol);
  if (!step || step->is_constant(0)) return std::nullopt;
  std::map<Symbol, int64_t> values;
  for (const Symbol& symbol : step->symbols())
    values[symbol] = std::clamp(unknown_extent, symbol.info().bounds.minimum, symbol.info().bounds.maximum);
  try {
    return std::abs(step->evaluate(values));
  } catch (const UserError&) {  // it does not fit 64 bits
    return Bounds::infinity;
  }
}

// Whether a loop of this extent is several loops of that period, one after another.
bool repeats(const Expr& extent, const Expr& period) {
  const std::optional<Expr> count = exact_quotient(extent, period);
  return count && !count->is_constant(1);
}

// The first divisor of `symbol % divisor` in an expression that is a period of the loop over the symbol.
std::optional<Expr> period_in(const Expr& expr, const FlatLoop& loop) {
  for (const Term& term : expr.terms())
    for (const Atom& factor : term.factors) {
      if (factor->kind == AtomKind::mod && factor->operands[0].as_symbol() == loop.symbol &&
          repeats(loop.extent, factor->operands[1]))
        return factor->operands[1];
      for (const Expr& operand : factor->operands)
        if (std::optional<Expr> found = period_in(operand, loop)) return found;
    }
  return std::nullopt;
}

constexpr int64_t shortest_period = 4;

// The bound of min(bound, symbol), if the atom is such a minimum and the symbol stands nowhere else in it.
std::optional<Expr> clamp_bound(const Atom& atom, const Symbol& symbol) {
  if (atom->kind != AtomKind::min) return std::nullopt;
  std::optional<Expr> bound;
  bool is_clamp = false;
  for (const Expr& operand : atom->operands) {
    if (operand.as_symbol() == symbol)
      is_clamp = true;
    else if (operand.symbols().contains(symbol))
      return std::nullopt;
    else
      bound = bound ? min(*bound, operand) : operand;
  }
  return is_clamp ? bound : std::nullopt;
}

Expr with_named_clamps(const Expr& expr, const Symbol& symbol, std::vector<ClampedIndex>& named) {
  Expr result = 0;
  for (const Term& term : expr.terms()) {
    Expr product = term.coefficient;
    for (const Atom& factor : term.factors) {
      const std::optional<Expr> bound = clamp_bound(factor, symbol);
      if (!bound) {
        product *= Expr::from_terms({{1, {factor}}});
        continue;
      }
      auto known = std::ranges::find(named, *bound, &ClampedIndex::bound);
      if (known == named.end()) {
        named.push_back({Symbol::axis(fmt::format("{}_clamped{}", symbol.name(), named.size()), *bound + 1), *bound});
        known = named.end() - 1;
      }
      product *= known->symbol;
    }
    result += product;
  }
  return result;
}

bool depends_on(const FlatLoop& inner, const FlatLoop& outer) { return inner.extent.symbols().contains(outer.symbol); }

}  // namespace

bool bounds_another(const FlatLoop& loop, const std::vector<FlatLoop>& loops) {
  return std::ranges::any_of(loops, [&](const FlatLoop& other) { return depends_on(other, loop); });
}

std::optional<Expr> coefficient(const Expr& expr, const Symbol& symbol) {
  std::vector<Term> terms;
  for (const Term& term : expr.terms()) {
    Term rest{term.coefficient, {}};
    int found = 0;
    for (const Atom& factor : term.factors) {
      if (!contains(factor, symbol)) {
        rest.factors.push_back(factor);
        continue;
      }
      if (factor->kind != AtomKind::symbol || ++found > 1) return std::nullopt;
    }
    if (found == 1) terms.push_back(std::move(rest));
  }
  return Expr::from_terms(std::move(terms));
}

bool moves_by_one(const Expr& offset, const Symbol& symbol) {
  const std::optional<Expr> step = coefficient(offset, symbol);
  return step && step->is_constant(1);
}

void merge_loops(std::vector<FlatLoop>& loops, FlatNest& nest) {
  for (size_t i = 0; i + 1 < loops.size();) {
    const FlatLoop outer = loops[i], inner = loops[i + 1];
    if (!can_merge(outer, inner, loops, nest)) {
      ++i;
      continue;
    }
    const Expr extent = outer.extent * inner.extent;
    const FlatLoop merged{Symbol::axis(outer.symbol.name() + "_" + inner.symbol.name(), extent), extent, inner.kind};
    substitute(nest, {{inner.symbol, merged.symbol}, {outer.symbol, 0}});
    loops[i] = merged;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    i = i > 0 ? i - 1 : 0;
  }
}

std::pair<FlatLoop, FlatLoop> tile_loop(const FlatLoop& loop, int64_t size, FlatNest& nest) {
  const Expr tiles = ceil_div(loop.extent, size);
  const FlatLoop tile{Symbol::axis(loop.symbol.name() + "_tile", tiles), tiles, loop.kind};
  const Expr first = Expr(tile.symbol) * size;
  const bool whole_tiles = mod(loop.extent, size).is_constant(0);
  const FlatLoop within{Symbol::axis(loop.symbol.name(), size),
                        whole_tiles ? Expr(size) : min(size, loop.extent - first), loop.kind};
  substitute(nest, {{loop.symbol, first + within.symbol}});
  return {tile, within};
}

FlatLoop join_iterations(const FlatLoop& loop, int64_t count, FlatNest& nest) {
  internal_check(nest.accumulators.size() == 1, "one accumulator an iteration");
  const Expr extent = ceil_div(loop.extent, count);
  const FlatLoop joined{Symbol::axis(loop.symbol.name() + "_rows", extent), extent, loop.kind};
  const bool are_whole = mod(loop.extent, count).is_constant(0);
  const FlatNest one = nest;
  nest.accumulators.clear();
  nest.stores.clear();
  for (int64_t i = 0; i < count; ++i) {
    FlatNest row = one;
    const Expr index = Expr(joined.symbol) * count + i;
    substitute(row, {{loop.symbol, are_whole ? index : min(index, loop.extent - 1)}});
    const Scalar own = scalar::accumulator(row.accumulators[0].dtype, static_cast<int>(i));
    nest.accumulators.push_back(row.accumulators[0]);
    for (FlatStore& store : row.stores) {
      store.value = replace_accumulators(store.value, {own});
      nest.stores.push_back(std::move(store));
    }
  }
  return joined;
}

std::vector<ClampedIndex> name_clamped_indices(const Symbol& symbol, FlatNest& nest) {
  std::vector<ClampedIndex> named;
  for (FlatStore& store : nest.stores)
    store.value = replace_loads(store.value, [&](const ScalarNode& load) {
      const Expr offset = with_named_clamps(load.indices.at(0), symbol, named);
      return offset == load.indices[0] ? Scalar() : scalar::load(load.dtype, load.buffer, {offset}, load.in_bounds);
    });
  return named;
}

void split_periodic_loops(FlatNest& nest) {
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const FlatLoop loop = nest.loops[i];
    if (loop.kind != AxisKind::parallel || bounds_another(loop, nest.loops)) continue;
    std::optional<Expr> period;
    for_each_expr(nest, [&](const Expr& expr) {
      if (!period) period = period_in(expr, loop);
    });
    if (!period || estimate(*period) < shortest_period) continue;
    const Expr count = *exact_quotient(loop.extent, *period);
    const FlatLoop periods{Symbol::axis(loop.symbol.name() + "_period", count), count, loop.kind},
        within{Symbol::axis(loop.symbol.name(), *period), *period, loop.kind};
    substitute(nest, {{loop.symbol, *period * periods.symbol + within.symbol}});
    nest.loops[i] = periods;
    nest.loops.insert(nest.loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, within);
  }
}

int64_t estimate(const Expr& extent) {
  if (auto constant = extent.constant()) return *constant;
  return extent.bounds().maximum < unknown_extent ? extent.bounds().maximum : unknown_extent;
}

int64_t estimate(const std::vector<FlatLoop>& loops, size_t first) {
  double work = 1;
  for (size_t i = first; i < loops.size(); ++i) work *= static_cast<double>(estimate(loops[i].extent));
  return static_cast<int64_t>(std::min(work, 1e15));
}

void drop_single_iterations(FlatNest& nest) {
  std::map<Symbol, Expr> single;
  for (const FlatLoop& loop : nest.loops)
    if (loop.extent.is_constant(1)) single.emplace(loop.symbol, 0);
  if (single.empty()) return;
  std::erase_if(nest.loops, [&](const FlatLoop& loop) { return single.contains(loop.symbol); });
  substitute(nest, single);
  // The lanes of the last block are as many as its index leaves.
  for (FlatLoop& loop : nest.loops) loop.extent = loop.extent.substitute(single);
}

void order_by_offset(std::vector<FlatLoop>& loops, const Expr& offset) {
  std::map<Symbol, int64_t> steps;
  for (const FlatLoop& loop : loops) steps[loop.symbol] = estimated_step(offset, loop).value_or(Bounds::infinity);
  // Insertion keeps lanes inside of the blocks that bound them.
  for (size_t i = 1; i < loops.size(); ++i)
    for (size_t j = i;
         j > 0 && steps[loops[j].symbol] > steps[loops[j - 1].symbol] && !depends_on(loops[j], loops[j - 1]); --j)
      std::swap(loops[j], loops[j - 1]);
}

}  // namespace onnxc
