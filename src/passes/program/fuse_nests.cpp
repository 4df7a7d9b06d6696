#include "passes/program/fuse_nests.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/program/program_uses.h"

namespace onnxc {
namespace {

// Larger expressions gain nothing from growing further, and generated functions stay readable.
constexpr size_t maximum_loads = 12;
// Nor from a long chain of operators; what grows without end takes time with the square of its length, and a stack.
constexpr size_t maximum_operators = 256;

struct Cost {
  size_t loads = 0;
  size_t operators = 0;
  bool computes = false;  // does arithmetic, as opposed to moving data
};

Cost cost_of(const LoopNest& nest) {
  Cost cost;
  auto count = [&](const ScalarNode& node) {
    cost.operators += node.operands.empty() ? 0 : 1;
    switch (node.op) {
      case ScalarOp::load:
        ++cost.loads;
        break;
      case ScalarOp::constant:
      case ScalarOp::index:
      case ScalarOp::select:
      case ScalarOp::cast:
      case ScalarOp::reinterpret:
      case ScalarOp::logical_and:
      case ScalarOp::less:
      case ScalarOp::less_or_equal:
        break;
      default:
        cost.computes = true;
    }
  };
  for (const Let& let : nest.lets) visit(let.value, count);
  for (const Store& store : nest.stores) visit(store.value, count);
  return cost;
}

// Whether the nest stores each element of one temporary once, at the indices that its axes name.
bool stores_whole_temporary(const Program& program, const LoopNest& nest) {
  if (nest.stores.size() != 1 || !nest.accumulators.empty()) return false;
  const Store& store = nest.stores.front();
  const Buffer& buffer = program.buffer(store.buffer);
  if (buffer.kind != BufferKind::temporary || buffer.view || buffer.alias) return false;
  if (store.kind != StoreKind::assign || store.condition || store.indices.size() != nest.axes.size()) return false;
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    const Axis& axis = nest.axes[i];
    if (axis.kind != AxisKind::parallel || !(store.indices[i] == Expr(axis.symbol)) ||
        !proven_equal(axis.extent, buffer.shape[i]))
      return false;
  }
  return true;
}

Expr iterations(const LoopNest& nest) {
  Expr count = 1;
  for (const Axis& axis : nest.axes) count *= axis.extent;
  return count;
}

// Whether the nest makes something too large for a cache of tensors that are much smaller, in few simple operations: a
// mask of the tokens that belong to one region. Reading that takes longer than computing it, for each reader again.
bool is_mask_of_small_tensors(const Program& program, const LoopNest& nest) {
  constexpr int64_t least_elements = 1 << 16, times_as_large = 16;
  constexpr int most_operators = 8;
  const Expr elements = iterations(nest);
  if (!nest.lets.empty() || !proven_at_least(elements, least_elements)) return false;
  int operators = 0;
  bool is_simple = true;
  visit(nest.stores.front().value, [&](const ScalarNode& node) {
    operators += node.operands.empty() ? 0 : 1;
    switch (node.op) {
      case ScalarOp::load:
        is_simple &= proven_at_least(elements, product(program.buffer(node.buffer).shape) * times_as_large);
        break;
      case ScalarOp::constant:
      case ScalarOp::add:
      case ScalarOp::subtract:
      case ScalarOp::multiply:
      case ScalarOp::equal:
      case ScalarOp::less:
      case ScalarOp::less_or_equal:
      case ScalarOp::logical_not:
      case ScalarOp::logical_and:
      case ScalarOp::logical_or:
      case ScalarOp::select:
        break;
      default:
        is_simple = false;
    }
  });
  return is_simple && operators <= most_operators;
}

// The indices with which a load of an alias reads the tensor itself; nothing if they differ in more than axes of extent
// 1.
std::optional<std::vector<Expr>> indices_behind_alias(const Shape& alias, const std::vector<Expr>& indices,
                                                      const Shape& behind) {
  const auto axes = axes_but_ones(behind, alias);
  if (!axes) return std::nullopt;
  std::vector<Expr> result;
  for (const std::optional<size_t>& axis : *axes) result.push_back(axis ? indices[*axis] : Expr(0));
  return result;
}

// Calls `visit` for every node of the nest's scalars; one that two scalars share counts for each.
template <class Visit>
void visit_nodes(const LoopNest& nest, const Visit& at) {
  for (const Let& let : nest.lets) visit(let.value, at);
  for (const Accumulator& accumulator : nest.accumulators) visit(accumulator.element, at);
  for (const Store& store : nest.stores) {
    visit(store.value, at);
    visit(store.condition, at);
  }
}

// Calls `apply` on every scalar of the nest, replacing it by the result.
template <class Apply>
void rewrite_scalars(LoopNest& nest, const Apply& apply) {
  for (Let& let : nest.lets) let.value = apply(let.value);
  for (Accumulator& accumulator : nest.accumulators) accumulator.element = apply(accumulator.element);
  for (Store& store : nest.stores) {
    store.value = apply(store.value);
    if (store.condition) store.condition = apply(store.condition);
  }
}

// The nodes that load from the buffer, and the places that they load.
struct Loads {
  size_t nodes = 0;
  std::set<std::vector<Expr>> places;
};

Loads loads_of(const LoopNest& nest, BufferId buffer) {
  Loads loads;
  visit_nodes(nest, [&](const ScalarNode& node) {
    if (node.op != ScalarOp::load || node.buffer != buffer) return;
    ++loads.nodes;
    loads.places.insert(node.indices);
  });
  return loads;
}

bool loads_in_lets(const LoopNest& nest) {
  bool found = false;
  for (const Let& let : nest.lets)
    visit(let.value, [&](const ScalarNode& node) { found = found || node.op == ScalarOp::load; });
  return found;
}

bool is_within(const std::vector<Expr>& indices, const Shape& shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (!proven_at_least(indices[i], 0) || !proven_less(indices[i], shape[i])) return false;
  return true;
}

// Whether the nest loads an element of the buffer that may not exist: a select, or the condition of a store, keeps it
// from being read, as in the padding of a pool.
bool may_load_outside(const LoopNest& nest, BufferId buffer, const Shape& shape) {
  bool found = false;
  const auto look_at = [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      found = found || (node.op == ScalarOp::load && node.buffer == buffer && !is_within(node.indices, shape));
    });
  };
  const auto look_at_choices = [&](const Scalar& scalar) {
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::select || node.op == ScalarOp::logical_and || node.op == ScalarOp::logical_or)
        for (size_t i = 1; i < node.operands.size(); ++i) look_at(node.operands[i]);
    });
  };
  for (const Let& let : nest.lets) look_at_choices(let.value);
  for (const Accumulator& accumulator : nest.accumulators) look_at_choices(accumulator.element);
  for (const Store& store : nest.stores) {
    if (store.condition)
      look_at(store.value);
    else
      look_at_choices(store.value);
  }
  return found;
}

// The consumer's axes and the producer's that stand for them, if it loads what the producer stores at one place, at
// axes of the same names and extents, and if neither has lets.
std::optional<std::map<Symbol, Expr>> shared_axes(const LoopNest& producer, const LoopNest& consumer,
                                                  const Loads& loads) {
  if (loads.places.size() != 1 || !producer.lets.empty() || !consumer.lets.empty()) return std::nullopt;
  const std::vector<Expr>& place = *loads.places.begin();
  std::map<Symbol, Expr> shared;
  for (size_t i = 0; i < producer.axes.size(); ++i) {
    const Axis& axis = producer.axes[i];
    const auto same = std::ranges::find_if(consumer.axes, [&](const Axis& other) {
      return place[i] == Expr(other.symbol) && other.symbol.name() == axis.symbol.name() && other.extent == axis.extent;
    });
    if (same == consumer.axes.end()) return std::nullopt;
    shared.emplace(same->symbol, axis.symbol);
  }
  return shared;
}

// Replaces the consumer's loads of what the producer stores by the producer's value, which is not copied: the consumer
// takes the producer's axes. So a long chain takes time with its length, as each consumer is small.
void share_value(const LoopNest& producer, const std::map<Symbol, Expr>& axes, LoopNest& consumer) {
  const auto rename = [&](Expr& expr) { expr = expr.substitute(axes); };
  for (Axis& axis : consumer.axes)
    if (const auto found = axes.find(axis.symbol); found != axes.end()) axis.symbol = *found->second.as_symbol();
  for (Accumulator& accumulator : consumer.accumulators) rename(accumulator.position);
  for (Store& store : consumer.stores) std::ranges::for_each(store.indices, rename);
  const Store& store = producer.stores.front();
  rewrite_scalars(consumer, [&](const Scalar& scalar) {
    return replace_loads(substitute(scalar, axes),
                         [&](const ScalarNode& load) { return load.buffer == store.buffer ? store.value : Scalar(); });
  });
}

// The same with copies of the value, one for each place that is loaded.
void inline_producer(const LoopNest& producer, LoopNest& consumer) {
  const Store& store = producer.stores.front();
  std::vector<Let> lets;  // of the copies, in front of the consumer's own
  std::map<std::vector<Expr>, Scalar> copies;
  auto copy_at = [&](const std::vector<Expr>& indices) -> Scalar {
    auto found = copies.find(indices);
    if (found != copies.end()) return found->second;
    std::map<Symbol, Expr> at;
    for (size_t i = 0; i < producer.axes.size(); ++i) at.emplace(producer.axes[i].symbol, indices[i]);
    for (const Let& let : producer.lets) {
      Symbol fresh = Symbol::index(fmt::format("j{}", consumer.lets.size() + lets.size()));
      lets.push_back({fresh, substitute(let.value, at)});
      at.emplace(let.symbol, fresh);
    }
    return copies.emplace(indices, substitute(store.value, at)).first->second;
  };
  rewrite_scalars(consumer, [&](const Scalar& scalar) {
    return replace_loads(
        scalar, [&](const ScalarNode& load) { return load.buffer == store.buffer ? copy_at(load.indices) : Scalar(); });
  });
  // A let of the producer may use axes of the consumer but none of its lets, unless it is loaded at one: then it must
  // come after them. Lets are sorted by what they use.
  std::vector<Let> ordered;
  std::vector<Let> waiting = std::move(lets);
  waiting.insert(waiting.end(), consumer.lets.begin(), consumer.lets.end());
  std::set<Symbol> pending;
  for (const Let& let : waiting) pending.insert(let.symbol);
  while (!waiting.empty()) {
    auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const Let& let) {
      bool free = true;
      visit(let.value, [&](const ScalarNode& node) {
        std::set<Symbol> used = node.expr.symbols();
        for (const Expr& index : node.indices) used.merge(index.symbols());
        for (const Symbol& symbol : used) free = free && !pending.contains(symbol);
      });
      return free;
    });
    internal_check(ready != waiting.end(), "lets without a cycle");
    pending.erase(ready->symbol);
    ordered.push_back(*ready);
    waiting.erase(ready);
  }
  consumer.lets = std::move(ordered);
}

class Fusion {
 public:
  explicit Fusion(Program& program) : program_(program), uses_(program), costs_(program.steps.size()) {}

  void run() {
    inline_all();
    // Masks come last, once all that a mask is made of is one nest; earlier, each reader would compute the parts apart.
    takes_masks_ = true;
    inline_all();
    uses_.sweep();
  }

 private:
  // In program order, so that a chain collapses from its head; again while that joins readers, since what had two may
  // then have one (t * sigmoid(t)).
  void inline_all() {
    for (bool inlined = true; inlined;) {
      inlined = false;
      for (size_t i = 0; i < program_.steps.size(); ++i) {
        if (uses_.is_removed(i)) continue;
        const auto* producer = std::get_if<LoopNest>(&program_.steps[i].work);
        if (producer != nullptr && stores_whole_temporary(program_, *producer)) inlined |= try_inline(i);
      }
    }
  }

  // Returns whether the nest is gone into its readers.
  bool try_inline(size_t position) {
    Step& step = program_.steps[position];
    const LoopNest& producer = std::get<LoopNest>(step.work);
    BufferId buffer = producer.stores.front().buffer;
    if (uses_.has_views(buffer) && is_mask(producer)) read_behind_aliases(buffer);
    std::set<size_t> readers = uses_.readers(buffer);
    if (readers.empty() || uses_.writers(buffer).size() != 1 || !may_inline(position, buffer, readers)) return false;
    for (size_t reader : readers)
      if (!uses_.may_move(position, reader) || writes_input(reader, step)) return false;
    for (size_t reader : readers) inline_into(position, reader, readers.size() == 1);
    uses_.remove(position);
    // Not only when all are swept: each holds what was fused into it before.
    step = Step{LoopNest(), {}};
    return true;
  }

  void inline_into(size_t position, size_t reader, bool is_only_reader) {
    Step &step = program_.steps[position], &consumer = program_.steps[reader];
    const auto& producer = std::get<LoopNest>(step.work);
    auto& nest = std::get<LoopNest>(consumer.work);
    const Loads loads = loads_of(nest, producer.stores.front().buffer);
    const auto axes = is_only_reader ? shared_axes(producer, nest, loads) : std::nullopt;
    if (axes) {
      const Cost &added = cost_at(position), &own = cost_at(reader);
      const Cost together{own.loads - loads.nodes + added.loads, own.operators + added.operators,
                          own.computes || added.computes};
      share_value(producer, *axes, nest);
      costs_[reader] = together;
      uses_.take_over(position, reader);
    } else {
      inline_producer(producer, nest);
      costs_[reader].reset();
      uses_.refresh(reader);
    }
    std::vector<Origin> origins = is_only_reader ? std::move(step.origins) : step.origins;
    origins.insert(origins.end(), std::make_move_iterator(consumer.origins.begin()),
                   std::make_move_iterator(consumer.origins.end()));
    consumer.origins = std::move(origins);
  }

  const Cost& cost_at(size_t step) {
    if (!costs_[step]) costs_[step] = cost_of(std::get<LoopNest>(program_.steps[step].work));
    return *costs_[step];
  }

  bool is_mask(const LoopNest& nest) const { return takes_masks_ && is_mask_of_small_tensors(program_, nest); }

  bool may_inline(size_t position, BufferId buffer, const std::set<size_t>& readers) {
    const auto& producer = std::get<LoopNest>(program_.steps[position].work);
    // Somebody who sees the buffer under another name needs it in memory.
    for (BufferId view : uses_.views(buffer))
      if (program_.buffer(view).kind != BufferKind::temporary || uses_.has_views(view) ||
          !uses_.readers(view).empty() || !uses_.writers(view).empty())
        return false;
    for (size_t reader : readers)
      if (!std::holds_alternative<LoopNest>(program_.steps[reader].work)) return false;
    const Cost cost = cost_at(position);
    if (cost.loads == 0 && producer.lets.empty() && !cost.computes) return true;
    if (is_mask(producer))
      return std::ranges::all_of(
          readers, [&](size_t reader) { return is_in_any_order(std::get<LoopNest>(program_.steps[reader].work)); });
    if (readers.size() > 1) return false;
    const LoopNest& consumer = std::get<LoopNest>(program_.steps[*readers.begin()].work);
    if (!is_in_any_order(consumer)) return false;
    const Cost cost_of_consumer = cost_at(*readers.begin());
    if (cost.loads + cost_of_consumer.loads > maximum_loads) return false;
    if (cost.operators + cost_of_consumer.operators > maximum_operators) return false;
    const Shape& shape = program_.buffer(buffer).shape;
    if (loads_of(consumer, buffer).places.size() != 1 || !proven_at_least(product(shape), iterations(consumer)))
      return false;
    // A let is computed wherever its nest is, whatever is chosen there.
    return !loads_in_lets(producer) || !may_load_outside(consumer, buffer, shape);
  }

  // A scatter or an ordered nest reads what it writes; its loads stay as they are.
  static bool is_in_any_order(const LoopNest& nest) {
    return std::ranges::none_of(nest.axes, [](const Axis& axis) { return axis.kind == AxisKind::ordered; });
  }

  // Nests that read the buffer with axes of extent 1 more or less read itself.
  void read_behind_aliases(BufferId buffer) {
    for (BufferId alias : uses_.views(buffer)) {
      if (!program_.buffer(alias).alias) continue;
      const std::set<size_t> readers = uses_.readers(alias);
      for (size_t reader : readers) {
        auto* nest = std::get_if<LoopNest>(&program_.steps[reader].work);
        if (nest == nullptr) continue;
        rewrite_scalars(*nest, [&](const Scalar& scalar) {
          return replace_loads(scalar, [&](const ScalarNode& load) {
            if (load.buffer != alias) return Scalar();
            const auto indices =
                indices_behind_alias(program_.buffer(alias).shape, load.indices, program_.buffer(buffer).shape);
            return indices ? scalar::load(load.dtype, buffer, *indices) : Scalar();
          });
        });
        uses_.refresh(reader);
      }
    }
  }

  // Whether the reader stores over what the producer reads: in the reader it might be read too late.
  bool writes_input(size_t reader, const Step& producer) const {
    return std::ranges::any_of(reads(producer),
                               [&](BufferId id) { return uses_.is_written_between(id, reader, reader + 1); });
  }

  Program& program_;
  ProgramUses uses_;
  std::vector<std::optional<Cost>> costs_;  // of the nest of each step, once it was asked for
  bool takes_masks_ = false;
};

}  // namespace

void fuse_nests(Program& program) { Fusion(program).run(); }

}  // namespace onnxc
