#include "ir/program/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

// True when the elements of a view of a row-major parent follow one another without gaps: up to one axis the view has
// one index, after it the whole axes.
bool is_contiguous(const Buffer& view, const Buffer& parent) {
  if (!parent.layout.is_row_major()) return false;
  size_t axis = 0;
  while (axis < view.shape.size() && view.shape[axis].is_constant(1)) ++axis;
  for (++axis; axis < view.shape.size(); ++axis)
    if (!proven_equal(view.shape[axis], parent.shape[axis])) return false;
  return true;
}

// The offset of the element that stands at `position` when the buffer's elements are counted in row-major order.
Expr offset_of_position(const Program& program, BufferId id, const Expr& position) {
  const Buffer& buffer = program.buffer(id);
  internal_check(buffer.layout.is_row_major(), "an alias of a row-major buffer");
  if (buffer.alias) return offset_of_position(program, buffer.alias->parent, position);
  if (!buffer.view) return position;
  if (is_contiguous(buffer, program.buffer(buffer.view->parent)))
    return program.offset(id, std::vector<Expr>(buffer.shape.size())) + position;
  return program.offset(id, unflatten(buffer.shape, position));
}

void add_once(std::vector<BufferId>& ids, BufferId id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

void add_loads(std::vector<BufferId>& ids, const Scalar& scalar) {
  visit(scalar, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::load) add_once(ids, node.buffer);
  });
}

void add_reads(std::vector<BufferId>& ids, const LoopNest& nest) {
  for (const Let& let : nest.lets) add_loads(ids, let.value);
  for (const Accumulator& accumulator : nest.accumulators) add_loads(ids, accumulator.element);
  for (const Store& store : nest.stores) {
    add_loads(ids, store.condition);
    add_loads(ids, store.value);
    if (store.kind != StoreKind::assign) add_once(ids, store.buffer);
  }
}

}  // namespace

std::vector<Expr> unflatten(const Shape& shape, Expr position) {
  std::vector<Expr> indices(shape.size());
  for (size_t i = shape.size(); i-- > 1;) {
    indices[i] = mod(position, shape[i]);
    position = floor_div(position, shape[i]);
  }
  if (!indices.empty()) indices[0] = position;
  return indices;
}

KernelOperand whole_operand(const Shape& shape, std::vector<Layout> layouts) {
  KernelOperand operand{.layouts = std::move(layouts)};
  for (size_t axis = 0; axis < shape.size(); ++axis) operand.extents.emplace_back(axis, shape[axis]);
  return operand;
}

bool is_kernel_type(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

BufferId Program::add(Buffer buffer) {
  buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(buffers.size()) - 1;
}

BufferId Program::storage(BufferId id) const {
  const Buffer* current = &buffer(id);
  while (current->view || current->alias) {
    id = current->view ? current->view->parent : current->alias->parent;
    current = &buffer(id);
  }
  return id;
}

Expr Program::offset(BufferId id, const std::vector<Expr>& indices) const {
  const Buffer& target = buffer(id);
  if (target.view) {
    internal_check(indices.size() == target.view->shift.size(), "as many indices as the view has axes");
    std::vector<Expr> shifted = indices;
    for (size_t i = 0; i < shifted.size(); ++i) shifted[i] += target.view->shift[i];
    return offset(target.view->parent, shifted);
  }
  Expr own = target.layout.offset(target.shape, indices);
  return target.alias ? offset_of_position(*this, target.alias->parent, own) : own;
}

std::vector<BufferId> reads(const Step& step) {
  std::vector<BufferId> ids;
  if (const auto* nest = std::get_if<LoopNest>(&step.work)) add_reads(ids, *nest);
  if (const auto* call = std::get_if<KernelCall>(&step.work)) {
    for (BufferId id : call->inputs) add_once(ids, id);
    add_loads(ids, call->inner_epilogue.value);
    add_loads(ids, call->epilogue.value);
  }
  if (const auto* binding = std::get_if<SymbolBinding>(&step.work)) add_once(ids, binding->buffer);
  if (const auto* loop = std::get_if<LoopBegin>(&step.work)) {
    if (loop->condition >= 0) add_once(ids, loop->condition);
    for (BufferId id : loop->carried) add_once(ids, id);
  }
  return ids;
}

std::optional<BufferId> read_by_host(const Step& step) {
  if (const auto* binding = std::get_if<SymbolBinding>(&step.work)) return binding->buffer;
  const auto* loop = std::get_if<LoopBegin>(&step.work);
  return loop != nullptr && loop->condition >= 0 ? std::optional(loop->condition) : std::nullopt;
}

std::map<Symbol, size_t> binding_steps(const Program& program) {
  std::map<Symbol, size_t> result;
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (const auto* binding = std::get_if<SymbolBinding>(&program.steps[i].work)) {
      for (const Symbol& symbol : binding->symbols) result.emplace(symbol, i);
    } else if (const auto* loop = std::get_if<LoopBegin>(&program.steps[i].work)) {
      result.emplace(loop->round, i);
    }
  return result;
}

bool begins_level(const Step& step) {
  return std::holds_alternative<SymbolBinding>(step.work) || std::holds_alternative<LoopBegin>(step.work) ||
         std::holds_alternative<LoopEnd>(step.work);
}

std::vector<std::optional<size_t>> enclosing_loops(const Program& program) {
  std::vector<std::optional<size_t>> result;
  std::vector<size_t> open;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (std::holds_alternative<LoopBegin>(program.steps[i].work)) open.push_back(i);
    result.push_back(open.empty() ? std::nullopt : std::optional(open.back()));
    if (!std::holds_alternative<LoopEnd>(program.steps[i].work)) continue;
    internal_check(!open.empty(), "a loop that begins before it ends");
    open.pop_back();
  }
  return result;
}

std::vector<BufferId> writes(const Step& step) {
  std::vector<BufferId> ids;
  if (const auto* nest = std::get_if<LoopNest>(&step.work))
    for (const Store& store : nest->stores) add_once(ids, store.buffer);
  if (const auto* call = std::get_if<KernelCall>(&step.work)) {
    add_once(ids, call->output);
    if (call->workspace) add_once(ids, *call->workspace);
  }
  if (const auto* loop = std::get_if<LoopBegin>(&step.work))
    for (BufferId id : loop->carried) add_once(ids, id);
  return ids;
}

}  // namespace onnxc
