#include "ir/program/memory_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace onnxc {
namespace {

// A box of a buffer's elements.
struct Region {
  BufferId buffer;
  std::vector<Expr> begin;
  Shape extents;
};

Region whole_of(const Program& program, BufferId id) {
  const Shape& shape = program.buffer(id).shape;
  return {id, std::vector<Expr>(shape.size(), 0), shape};
}

// The region and those of the buffers under it that hold its elements, down to the storage. Under another shape
// nothing is known of where they are.
std::vector<Region> with_parents(const Program& program, BufferId id) {
  std::vector<Region> chain{whole_of(program, id)};
  for (;;) {
    Region region = chain.back();
    const Buffer& buffer = program.buffer(region.buffer);
    if (buffer.alias) {
      region = whole_of(program, buffer.alias->parent);
    } else if (buffer.view) {
      region.buffer = buffer.view->parent;
      for (size_t i = 0; i < region.begin.size(); ++i) region.begin[i] += buffer.view->shift[i];
    } else {
      return chain;
    }
    chain.push_back(std::move(region));
  }
}

bool are_apart(const Region& a, const Region& b) {
  for (size_t i = 0; i < a.begin.size(); ++i)
    if (proven_at_least(b.begin[i], a.begin[i] + a.extents[i]) ||
        proven_at_least(a.begin[i], b.begin[i] + b.extents[i]))
      return true;
  return false;
}

// An element that a step loads, or the one that it stores.
struct Element {
  BufferId buffer;
  const std::vector<Expr>& indices;
};

bool are_equal(const Program& program, const Element& a, const Element& b) {
  if (a.buffer == b.buffer) return a.indices == b.indices;
  return program.offset(a.buffer, a.indices) == program.offset(b.buffer, b.indices);
}

// The element in the coordinates of the storage, if no shape but that is in between.
std::optional<std::vector<Expr>> in_storage(const Program& program, const Element& element) {
  std::vector<Expr> indices = element.indices;
  for (BufferId id = element.buffer;;) {
    const Buffer& buffer = program.buffer(id);
    if (buffer.alias) {
      id = buffer.alias->parent;
      if (!std::ranges::equal(buffer.shape, program.buffer(id).shape, proven_equal)) return std::nullopt;
    } else if (buffer.view) {
      for (size_t i = 0; i < indices.size(); ++i) indices[i] += buffer.view->shift[i];
      id = buffer.view->parent;
    } else {
      return indices;
    }
  }
}

// For each symbol that differs from iteration to iteration another one of the same values; nothing if their values
// depend on one another.
std::optional<std::map<Symbol, Expr>> symbols_of_another_iteration(const LoopNest& nest) {
  std::map<Symbol, Expr> others;
  for (const Axis& axis : nest.axes) {
    const std::set<Symbol> of_extent = axis.extent.symbols();
    if (std::ranges::any_of(of_extent, [](const Symbol& symbol) { return symbol.info().extent != nullptr; }))
      return std::nullopt;
    others.emplace(axis.symbol, Expr(Symbol::axis(axis.symbol.name(), axis.extent)));
  }
  for (const Let& let : nest.lets) others.emplace(let.symbol, Expr(Symbol::index(let.symbol.name())));
  return others;
}

// Whether no iteration of the nest loads an element that any stores: along one axis all are above the others.
bool never_meet(const Program& program, const LoopNest& nest, const Element& loaded, const Element& stored) {
  const std::optional<std::vector<Expr>> from = in_storage(program, loaded), to = in_storage(program, stored);
  const std::optional<std::map<Symbol, Expr>> others = symbols_of_another_iteration(nest);
  if (!from || !to || !others || from->size() != to->size()) return false;
  for (size_t i = 0; i < from->size(); ++i) {
    const Expr load = (*from)[i].substitute(*others), &store = (*to)[i];
    if (proven_at_least(load, store + 1) || proven_at_least(store, load + 1)) return true;
  }
  return false;
}

// The first load, of those in the scalar, of memory that is stored, but for that of the stored element itself, and of
// elements that no iteration of the nest, if it is one, stores.
std::optional<BufferId> find_conflict(const Program& program, const Scalar& scalar, const Element& stored,
                                      bool may_load_it, const LoopNest* nest = nullptr) {
  std::optional<BufferId> found;
  if (!scalar) return found;
  visit(scalar, [&](const ScalarNode& node) {
    if (found || node.op != ScalarOp::load || !may_overlap(program, node.buffer, stored.buffer)) return;
    const Element loaded{node.buffer, node.indices};
    if (may_load_it && are_equal(program, loaded, stored)) return;
    if (nest == nullptr || !never_meet(program, *nest, loaded, stored)) found = node.buffer;
  });
  return found;
}

std::string describe_conflict(BufferId read, BufferId written) {
  return fmt::format("reads b{} in memory of b{}, which it writes", read, written);
}

}  // namespace

bool may_overlap(const Program& program, BufferId a, BufferId b) {
  if (a == b) return true;
  if (program.storage(a) != program.storage(b)) return false;
  const std::vector<Region> parents = with_parents(program, a);
  for (const Region& region : with_parents(program, b)) {
    const auto common =
        std::ranges::find_if(parents, [&](const Region& parent) { return parent.buffer == region.buffer; });
    if (common != parents.end()) return !are_apart(*common, region);
  }
  return true;
}

bool is_whole(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffer(id);
  if (buffer.alias) return is_whole(program, buffer.alias->parent);
  if (!buffer.view) return true;
  const Buffer& parent = program.buffer(buffer.view->parent);
  return std::equal(buffer.shape.begin(), buffer.shape.end(), parent.shape.begin(), parent.shape.end(), proven_equal) &&
         is_whole(program, buffer.view->parent);
}

std::optional<std::string> memory_fault(const Program& program, const KernelCall& call) {
  std::vector<Expr> stored;
  for (const Axis& axis : call.epilogue.axes) stored.emplace_back(axis.symbol);
  std::vector<BufferId> written{call.output};
  if (call.workspace) written.push_back(*call.workspace);
  for (const BufferId id : written) {
    for (const BufferId input : call.inputs)
      if (may_overlap(program, input, id)) return describe_conflict(input, id);
    const Element element{id, stored};
    std::optional<BufferId> conflict = find_conflict(program, call.inner_epilogue.value, element, false);
    const bool may_load_it = id == call.output && call.spec->may_replace_operand();
    if (!conflict) conflict = find_conflict(program, call.epilogue.value, element, may_load_it);
    if (conflict) return describe_conflict(*conflict, id);
  }
  if (call.workspace && may_overlap(program, *call.workspace, call.output))
    return describe_conflict(*call.workspace, call.output);
  return std::nullopt;
}

std::optional<std::string> memory_fault(const Program& program, const LoopNest& nest) {
  if (std::ranges::any_of(nest.axes, [](const Axis& axis) { return axis.kind == AxisKind::ordered; }))
    return std::nullopt;
  for (const Store& store : nest.stores) {
    const Element element{store.buffer, store.indices};
    std::optional<BufferId> conflict;
    auto check = [&](const Scalar& scalar) {
      if (!conflict) conflict = find_conflict(program, scalar, element, true, &nest);
    };
    for (const Let& let : nest.lets) check(let.value);
    for (const Accumulator& accumulator : nest.accumulators) check(accumulator.element);
    for (const Store& other : nest.stores) {
      check(other.value);
      check(other.condition);
    }
    if (conflict) return describe_conflict(*conflict, store.buffer);
  }
  return std::nullopt;
}

}  // namespace onnxc
