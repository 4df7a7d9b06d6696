#include "passes/program/place_stores.h"

#include <algorithm>

namespace onnxc {
namespace {

// The shift of a store whose indices are the nest's axes in order, plus something that no axis changes.
std::optional<std::vector<Expr>> shift_of(const LoopNest& nest, const Store& store) {
  if (store.indices.size() != nest.axes.size()) return std::nullopt;
  std::vector<Expr> shift;
  for (size_t i = 0; i < nest.axes.size(); ++i) {
    const Axis& axis = nest.axes[i];
    Expr rest = store.indices[i] - Expr(axis.symbol);
    if (axis.kind != AxisKind::parallel || rest.symbols().contains(axis.symbol)) return std::nullopt;
    for (const Axis& other : nest.axes)
      if (rest.symbols().contains(other.symbol)) return std::nullopt;
    for (const Let& let : nest.lets)
      if (rest.symbols().contains(let.symbol)) return std::nullopt;
    shift.push_back(rest);
  }
  return shift;
}

void place(Program& program, LoopNest& nest) {
  if (nest.stores.size() != 1) return;
  Store& store = nest.stores.front();
  if (store.kind != StoreKind::assign || store.condition) return;
  std::optional<std::vector<Expr>> shift = shift_of(nest, store);
  if (!shift) return;
  const Buffer& parent = program.buffer(store.buffer);
  Buffer part;
  for (const Axis& axis : nest.axes) part.shape.push_back(axis.extent);
  if (std::equal(part.shape.begin(), part.shape.end(), parent.shape.begin(), proven_equal)) return;
  if (!holds_whole_blocks(parent, part.shape, *shift)) return;
  part.name = parent.name;
  part.dtype = parent.dtype;
  part.layout = parent.layout;
  part.view = Buffer::View{store.buffer, *shift};
  store.buffer = program.add(std::move(part));
  for (size_t i = 0; i < nest.axes.size(); ++i) store.indices[i] = nest.axes[i].symbol;
}

}  // namespace

bool holds_whole_blocks(const Buffer& parent, const Shape& part, const std::vector<Expr>& shift) {
  for (size_t axis = 0; axis < part.size(); ++axis) {
    if (!parent.layout.is_blocked(axis)) continue;
    Expr block = parent.layout.block_size;
    if (!proven_equal(mod(shift[axis], block), 0)) return false;
    if (!proven_equal(mod(part[axis], block), 0) && !proven_equal(shift[axis] + part[axis], parent.shape[axis]))
      return false;
  }
  return true;
}

void place_stores(Program& program) {
  for (Step& step : program.steps)
    if (auto* nest = std::get_if<LoopNest>(&step.work)) place(program, *nest);
}

}  // namespace onnxc
