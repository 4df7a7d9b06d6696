#include "codegen/nests/flat_nest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/loops/operations.h"
#include "ir/loops/rounding.h"
#include "ops/nest_builder.h"

namespace onnxc {
namespace {

// A use of one logical axis of a buffer: its index, counted in the buffer that the views end in.
struct AxisUse {
  const Buffer* root;
  size_t axis;
  Expr index;
};

// The buffer that owns the layout of `id`, and the indices in it.
std::pair<const Buffer*, std::vector<Expr>> through_views(const Program& program, BufferId id,
                                                          std::vector<Expr> indices) {
  const Buffer* buffer = &program.buffer(id);
  while (buffer->view) {
    for (size_t i = 0; i < indices.size(); ++i) indices[i] += buffer->view->shift[i];
    buffer = &program.buffer(buffer->view->parent);
  }
  return {buffer, std::move(indices)};
}

bool divides(int64_t block, const Expr& expr) { return mod(expr, block).is_constant(0); }

// How one axis of the nest is split.
struct Split {
  Symbol block, lane;
  int64_t block_size;
  bool covers_padding;  // the lanes past the extent are run as well
  bool loads_are_safe;  // in those lanes every load stays within its buffer
};

class Flattener {
 public:
  Flattener(const Program& program, const LoopNest& nest) : program_(program), nest_(nest) {
    for (const Axis& axis : nest.axes) local_symbols_.insert(axis.symbol);
    for (const Let& let : nest.lets) local_symbols_.insert(let.symbol);
  }

  FlatNest run() {
    FlatNest flat{nest_.name, {}, {}, {}, {}};
    for (const Axis& axis : nest_.axes) add_loops(flat, axis);
    find_uncovered_padding();
    for (const Let& let : nest_.lets) flat.lets.push_back({let.symbol, guarded(let.value)});
    for (const Accumulator& accumulator : nest_.accumulators) {
      Accumulator result = accumulator;
      result.element = guarded(accumulator.element);
      result.position = accumulator.position.substitute(replacements_);
      flat.accumulators.push_back(std::move(result));
    }
    for (const Store& store : nest_.stores) flat.stores.push_back(flatten_store(store));
    return flat;
  }

  // The blocked axes of storages whose padding the nest does not write.
  const std::set<std::pair<BufferId, size_t>>& uncovered_padding() const { return uncovered_padding_; }

 private:
  // The uses of blocked axes in the stores or loads of the nest.
  std::vector<AxisUse> blocked_uses(BufferId id, const std::vector<Expr>& indices) const {
    auto [root, shifted] = through_views(program_, id, indices);
    std::vector<AxisUse> uses;
    for (size_t i = 0; i < shifted.size(); ++i)
      if (root->layout.is_blocked(i)) uses.push_back({root, i, shifted[i]});
    return uses;
  }

  // The index is the axis plus whole blocks.
  bool is_clean(const AxisUse& use, const Symbol& axis) const {
    const Expr rest = use.index - axis;
    for (const Symbol& symbol : rest.symbols())
      if (local_symbols_.contains(symbol)) return false;
    return divides(use.root->layout.block_size, rest);
  }

  std::optional<Split> find_split(const Axis& axis) const {
    if (axis.kind == AxisKind::ordered) return std::nullopt;
    std::optional<int64_t> block_size;
    bool covers_padding = false;
    for (const Store& store : nest_.stores)
      for (const AxisUse& use : blocked_uses(store.buffer, store.indices)) {
        const int64_t size = use.root->layout.block_size;
        if (!is_clean(use, axis.symbol) || block_size.value_or(size) != size) continue;
        block_size = size;
        covers_padding |= proven_equal(use.index - axis.symbol + axis.extent, use.root->shape[use.axis]);
      }
    if (!block_size) {
      for_each_load([&](const ScalarNode& load) {
        for (const AxisUse& use : blocked_uses(load.buffer, load.indices))
          if (!block_size && is_clean(use, axis.symbol)) block_size = use.root->layout.block_size;
      });
    }
    if (!block_size) return std::nullopt;
    covers_padding &= !divides(*block_size, axis.extent);
    return Split{Symbol::axis(axis.symbol.name() + "_block", ceil_div(axis.extent, *block_size)),
                 Symbol::axis(axis.symbol.name() + "_lane", *block_size), *block_size, covers_padding,
                 loads_are_safe(axis.symbol, *block_size)};
  }

  void for_each_load(const std::function<void(const ScalarNode&)>& action) const {
    auto in = [&](const Scalar& scalar) {
      if (scalar)
        visit(scalar, [&](const ScalarNode& node) {
          if (node.op == ScalarOp::load) action(node);
        });
    };
    for (const Let& let : nest_.lets) in(let.value);
    for (const Accumulator& accumulator : nest_.accumulators) in(accumulator.element);
    for (const Store& store : nest_.stores) {
      in(store.value);
      in(store.condition);
    }
  }

  // Every load that varies with the axis reads blocks of this size, whose padding is memory like the rest.
  bool loads_are_safe(const Symbol& axis, int64_t block_size) const {
    bool safe = nest_.lets.empty();
    for_each_load([&](const ScalarNode& load) {
      auto [root, indices] = through_views(program_, load.buffer, load.indices);
      for (size_t i = 0; i < indices.size(); ++i) {
        if (!indices[i].symbols().contains(axis)) continue;
        safe &= root->layout.is_blocked(i) && root->layout.block_size == block_size &&
                is_clean({root, i, indices[i]}, axis);
      }
    });
    return safe;
  }

  void add_loops(FlatNest& flat, const Axis& axis) {
    std::optional<Split> split = find_split(axis);
    if (!split) {
      flat.loops.push_back({axis.symbol, axis.extent, axis.kind});
      return;
    }
    splits_.emplace(axis.symbol, *split);
    const Expr first = Expr(split->block) * split->block_size;
    const bool whole_blocks = split->covers_padding || divides(split->block_size, axis.extent);
    if (whole_blocks) whole_axes_.push_back(axis.symbol);
    const Expr lanes = whole_blocks ? Expr(split->block_size) : min(split->block_size, axis.extent - first);
    flat.loops.push_back({split->block, ceil_div(axis.extent, split->block_size), axis.kind});
    flat.loops.push_back({split->lane, lanes, axis.kind});
    const Expr index = first + split->lane;
    replacements_[axis.symbol] = index;
    if (!split->covers_padding) return;
    const Scalar test = less(index, axis.extent);
    inside_ = both(inside_, test);
    if (!split->loads_are_safe) inside_for_loads_ = both(inside_for_loads_, test);
  }

  // An index is within its dim whatever runs: the axis of that extent, or a constant below the dim. In lanes that run
  // past the extent it is where the buffer has such lanes too.
  bool is_in_bounds(const ScalarNode& load) const {
    const std::vector<Expr>& shape = program_.buffer(load.buffer).shape;
    auto [root, shifted] = through_views(program_, load.buffer, load.indices);
    for (size_t i = 0; i < shape.size(); ++i) {
      const Expr& index = load.indices[i];
      if (index.constant() && shape[i].constant() && *index.constant() < *shape[i].constant()) continue;
      // This axis, and not one that is proven equal since both have an extent of one: lanes run past the extent.
      const std::optional<Symbol> symbol = index.as_symbol();
      auto axis = std::ranges::find_if(nest_.axes, [&](const Axis& each) { return symbol && each.symbol == *symbol; });
      if (axis == nest_.axes.end() || !proven_equal(axis->extent, shape[i])) return false;
      auto split = splits_.find(axis->symbol);
      if (split == splits_.end() || !split->second.covers_padding) continue;
      if (!root->layout.is_blocked(i) || root->layout.block_size != split->second.block_size ||
          !is_clean({root, i, shifted[i]}, axis->symbol))
        return false;
    }
    return true;
  }

  Scalar flat(const Scalar& scalar) const {
    const Scalar marked = replace_loads(scalar, [&](const ScalarNode& load) {
      return scalar::load(load.dtype, load.buffer, load.indices, is_in_bounds(load));
    });
    return replace_loads(substitute(marked, replacements_), [&](const ScalarNode& load) {
      return scalar::load(load.dtype, program_.storage(load.buffer), {program_.offset(load.buffer, load.indices)},
                          load.in_bounds);
    });
  }

  // The value, or zero if its loads would leave their buffers.
  Scalar guarded(const Scalar& scalar) const {
    const Scalar value = flat(scalar);
    return inside_for_loads_ ? scalar::select(inside_for_loads_, value, scalar::constant(value.dtype(), 0)) : value;
  }

  // Whole blocks are stored there, padding included if the buffer has any.
  bool covers_padding(const Store& store, const AxisUse& use) const {
    return !store.condition && store.kind == StoreKind::assign &&
           std::ranges::any_of(whole_axes_, [&](const Symbol& axis) { return is_clean(use, axis); });
  }

  bool covers_padding(const Store& store) const {
    std::vector<AxisUse> uses = blocked_uses(store.buffer, store.indices);
    return !uses.empty() && std::ranges::all_of(uses, [&](const AxisUse& use) { return covers_padding(store, use); });
  }

  void find_uncovered_padding() {
    for (const Store& store : nest_.stores)
      for (const AxisUse& use : blocked_uses(store.buffer, store.indices))
        if (!divides(use.root->layout.block_size, use.root->shape[use.axis]) && !covers_padding(store, use))
          uncovered_padding_.insert({program_.storage(store.buffer), use.axis});
  }

  FlatStore flatten_store(const Store& store) const {
    std::vector<Expr> indices = store.indices;
    for (Expr& index : indices) index = index.substitute(replacements_);
    FlatStore result{program_.storage(store.buffer),
                     program_.buffer(store.buffer).dtype,
                     program_.offset(store.buffer, indices),
                     guarded(store.value),
                     store.kind,
                     store.condition ? guarded(store.condition) : Scalar(),
                     {}};
    if (!inside_) return result;
    if (covers_padding(store))
      result.inside = inside_;
    else
      result.condition = both(inside_, result.condition);
    return result;
  }

  const Program& program_;
  const LoopNest& nest_;
  std::set<Symbol> local_symbols_;
  std::map<Symbol, Expr> replacements_;
  std::map<Symbol, Split> splits_;
  std::vector<Symbol> whole_axes_;  // split into whole blocks
  std::set<std::pair<BufferId, size_t>> uncovered_padding_;
  Scalar inside_;            // the point is an element of the tensors
  Scalar inside_for_loads_;  // the same, if loads depend on it
};

// The nest that zeroes the padding of one blocked axis of a buffer.
FlatNest padding_nest(const Program& program, BufferId storage, size_t padded_axis) {
  const Buffer& buffer = program.buffer(storage);
  const int64_t block_size = buffer.layout.block_size;
  FlatNest nest{"fill_padding", {}, {}, {}, {}};
  std::vector<Expr> indices;
  for (size_t i = 0; i < buffer.shape.size(); ++i) {
    const Expr& dim = buffer.shape[i];
    const Expr padding = ceil_div(dim, block_size) * block_size - dim;
    const Expr extent = i == padded_axis ? padding : dim;
    const Symbol axis = Symbol::axis(fmt::format("i{}", i), extent);
    nest.loops.push_back({axis, extent, AxisKind::parallel});
    indices.push_back(i == padded_axis ? dim + axis : Expr(axis));
  }
  nest.stores.push_back({storage,
                         buffer.dtype,
                         buffer.layout.offset(buffer.shape, indices),
                         scalar::constant(buffer.dtype, 0),
                         StoreKind::assign,
                         {},
                         {}});
  return nest;
}

int64_t constant_term(const Expr& expr) {
  if (expr.terms().empty() || !expr.terms().back().factors.empty()) return 0;
  return expr.terms().back().coefficient;
}

std::string text_of(const FlatStore& store) {
  std::string text = fmt::format("b{}[{}] = {}", store.storage, store.offset.to_string(), to_string(store.value));
  if (store.kind != StoreKind::assign) text += " (combining)";
  if (store.condition) text += " if " + to_string(store.condition);
  if (store.inside) text += " in lanes where " + to_string(store.inside);
  return text;
}

}  // namespace

FlatNest flatten(const Program& program, const LoopNest& nest) { return Flattener(program, nest).run(); }

std::vector<FlatNest> fill_padding(const Program& program, const LoopNest& nest) {
  Flattener flattener(program, nest);
  flattener.run();
  std::vector<FlatNest> result;
  for (const auto& [storage, axis] : flattener.uncovered_padding())
    result.push_back(padding_nest(program, storage, axis));
  return result;
}

void for_each_scalar(const FlatNest& nest, const std::function<void(const Scalar&)>& visit) {
  for (const Let& let : nest.lets) visit(let.value);
  for (const Accumulator& accumulator : nest.accumulators) visit(accumulator.element);
  for (const FlatStore& store : nest.stores) {
    visit(store.value);
    if (store.condition) visit(store.condition);
    if (store.inside) visit(store.inside);
  }
}

Scalar stored_value(const FlatStore& store) {
  if (store.kind == StoreKind::assign) return before_rounding(store.value);
  return scalar::binary(combining_op(store.kind), scalar::load(store.dtype, store.storage, {store.offset}),
                        store.value);
}

void for_each_expr(const FlatNest& nest, const std::function<void(const Expr&)>& visit_expr) {
  for_each_scalar(nest, [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::index) visit_expr(node.expr);
      for (const Expr& index : node.indices) visit_expr(index);
    });
  });
  for (const Accumulator& accumulator : nest.accumulators) visit_expr(accumulator.position);
  for (const FlatStore& store : nest.stores) visit_expr(store.offset);
}

void substitute(FlatNest& nest, const std::map<Symbol, Expr>& replacements) {
  auto replace = [&](Scalar& scalar) {
    if (scalar) scalar = substitute(scalar, replacements);
  };
  for (Let& let : nest.lets) replace(let.value);
  for (Accumulator& accumulator : nest.accumulators) {
    replace(accumulator.element);
    accumulator.position = accumulator.position.substitute(replacements);
  }
  for (FlatStore& store : nest.stores) {
    store.offset = store.offset.substitute(replacements);
    replace(store.value);
    replace(store.condition);
    replace(store.inside);
  }
}

std::vector<NestMemory> number_storages(FlatNest& nest) {
  std::vector<NestMemory> memory;
  std::map<BufferId, BufferId> numbers;
  const auto meet = [&](BufferId storage, DType dtype, const Expr& offset) {
    const int64_t first = std::max<int64_t>(constant_term(offset), 0);
    const auto [known, is_new] = numbers.emplace(storage, static_cast<BufferId>(memory.size()));
    if (is_new) {
      memory.push_back({storage, dtype, first});
    } else {
      NestMemory& met = memory[static_cast<size_t>(known->second)];
      met.first = met.dtype == dtype ? std::min(met.first, first) : 0;
    }
  };
  for (const FlatStore& store : nest.stores) meet(store.storage, store.dtype, store.offset);
  for_each_scalar(nest, [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::load) meet(node.buffer, node.dtype, node.indices.front());
    });
  });
  const auto first_of = [&](BufferId number) { return memory[static_cast<size_t>(number)].first; };
  auto renumber = [&](Scalar& scalar) {
    if (!scalar) return;
    scalar = replace_loads(scalar, [&](const ScalarNode& load) {
      const BufferId number = numbers.at(load.buffer);
      return scalar::load(load.dtype, number, {load.indices.front() - first_of(number)}, load.in_bounds);
    });
  };
  for (Let& let : nest.lets) renumber(let.value);
  for (Accumulator& accumulator : nest.accumulators) renumber(accumulator.element);
  for (FlatStore& store : nest.stores) {
    store.storage = numbers.at(store.storage);
    store.offset -= first_of(store.storage);
    renumber(store.value);
    renumber(store.condition);
    renumber(store.inside);
  }
  return memory;
}

std::string to_string(const FlatNest& nest) {
  std::string text = nest.name + "\n";
  for (const FlatLoop& loop : nest.loops)
    text += fmt::format("  {}<{}{}\n", loop.symbol.name(), loop.extent.to_string(),
                        loop.kind == AxisKind::parallel ? ""
                        : loop.kind == AxisKind::reduce ? " reduce"
                                                        : " ordered");
  for (const Let& let : nest.lets) text += fmt::format("  let {} = {}\n", let.symbol.name(), to_string(let.value));
  for (size_t i = 0; i < nest.accumulators.size(); ++i)
    text += fmt::format("  acc{} = {}\n", i, to_string(nest.accumulators[i].element));
  for (const FlatStore& store : nest.stores) text += "  " + text_of(store) + "\n";
  return text;
}

}  // namespace onnxc
