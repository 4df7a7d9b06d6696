#include "ops/control/control_flow.h"

#include <algorithm>
#include <set>

#include "ops/control/deciding_dims.h"
#include "ops/families.h"

namespace onnxc {
namespace {

Scalar truth_of(const Expr& zero_or_one) {
  return scalar::binary(ScalarOp::equal, scalar::index(zero_or_one), scalar::index(1));
}

// ---------------------------------------------------------------------------------------------------------- If

Expr condition_of(const NodeReader& c) { return c.elements(0).value().at(0); }

// A shape with axes of 1 in front.
Shape of_rank(const Shape& shape, size_t rank) {
  Shape result(rank - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

// Operators whose result depends on the rank of an input only if no other input has as many axes.
bool broadcasts(const Node& node) {
  return is_one_of(&node, {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Where", "Equal", "Less",
                           "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor"});
}

bool sees_rank(const Use& use) {
  if (is_operator(use.node, "CastLike")) return use.index == 0;
  constexpr int all_broadcast = 8;  // the first version in which they all do
  if (!broadcasts(*use.node) || use.node->origin.version < all_broadcast) return true;
  const Value* value = use.node->inputs[use.index];
  return std::ranges::none_of(use.node->inputs, [&](const Value* other) {
    return other != value && other->shape->size() >= value->shape->size();
  });
}

[[noreturn]] void fail_for_ranks(const NodeReader& c, size_t output) {
  c.fail("output {}: the branches give {} and {}, and only a run knows which; one rank is expected{}", output,
         short_text(c.shape(branch_input(c, output, true))), short_text(c.shape(branch_input(c, output, false))),
         hint_at_deciding_dims(c.input(0)));
}

// ONNX If. Both branches give a dtype and a rank; a dim that differs is that of the branch which a run takes. One of
// fewer axes takes axes of 1 in front if the other has these (check_ranks_of_branches).
void infer_if(InferContext& c) {
  c.needed_elements(0, "condition");
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    const size_t then_input = branch_input(c, i, true), else_input = branch_input(c, i, false);
    const size_t rank = std::max(c.rank(then_input), c.rank(else_input));
    const Shape taken = of_rank(c.shape(then_input), rank), other = of_rank(c.shape(else_input), rank);
    if (c.dtype(then_input) != c.dtype(else_input))
      c.fail("output {}: the branches give {} and {}{}", i, info(c.dtype(then_input)).name,
             info(c.dtype(else_input)).name, hint_at_deciding_dims(c.input(0)));
    for (size_t axis = 0; axis < rank - std::min(c.rank(then_input), c.rank(else_input)); ++axis)
      if (!taken[axis].is_constant(1) || !other[axis].is_constant(1)) fail_for_ranks(c, i);
    Shape joined;
    for (size_t axis = 0; axis < rank; ++axis)
      joined.push_back(proven_equal(taken[axis], other[axis]) ? taken[axis] : c.run_time_dim(i, axis));
    c.output(i, c.dtype(then_input), joined);
  }
}

void define_if(DefineContext& c) {
  const Scalar holds = truth_of(condition_of(c));
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    Operand y = c.out(i), taken = c.in(branch_input(c, i, true)), other = c.in(branch_input(c, i, false));
    const Shape taken_dims = of_rank(taken.shape, y.rank()), other_dims = of_rank(other.shape, y.rank());
    std::vector<Scalar> dims;
    for (size_t axis = 0; axis < y.rank(); ++axis)
      dims.push_back(scalar::select(holds, scalar::index(taken_dims[axis]), scalar::index(other_dims[axis])));
    c.bind(y.shape, dims);
    for (const auto& [x, condition] :
         {std::pair(taken, holds), std::pair(other, scalar::unary(ScalarOp::logical_not, holds))}) {
      NestBuilder nest("If");
      const std::vector<Expr> from = nest.parallel(x.shape);
      std::vector<Expr> to(y.rank() - x.rank(), 0);
      to.insert(to.end(), from.begin(), from.end());
      nest.store(y, to, x(from), StoreKind::assign, condition);
      c.emit(std::move(nest));
    }
  }
}

// ---------------------------------------------------------------------------------------------- Loop and Scan

constexpr size_t first_state = LoopPlaces::first_state;

size_t carried_count(const NodeReader& c) { return static_cast<size_t>(c.integer("carried")); }

// For a scanned or collected tensor: its axis, and whether it goes from the end to the beginning.
struct ScanOrder {
  size_t axis;
  bool backwards;
  Expr place(const Expr& round, const Expr& count) const { return backwards ? count - 1 - round : round; }
};

ScanOrder scan_order(const NodeReader& c, size_t index, size_t rank) {
  const std::vector<int64_t> axes = c.integers("axes"), directions = c.integers("directions");
  return {index < axes.size() ? c.axis(axes[index], rank) : 0, index < directions.size() && directions[index] != 0};
}

bool holds_always(const Value* value) {
  return value == nullptr || (value->elements && value->elements->size() == 1 && value->elements->at(0).is_constant(1));
}

// Whether the rounds are counted only: the condition holds from the beginning on, and the body hands it on.
bool only_counts(const Node& begin) {
  const Value* initial = begin.inputs.size() > 1 ? begin.inputs[1] : nullptr;
  const Node* end = loop_end(begin);
  if (!holds_always(initial) || end == nullptr) return false;
  const Value* next = end->inputs[first_state + carried_count(NodeReader(*end))];
  while (next != nullptr && next->producer != nullptr && next->producer->op->name == "Identity")
    next = next->producer->inputs[0];
  return next == begin.outputs[1] || holds_always(next);
}

size_t scanned_count(const NodeReader& c) {
  return c.input_count() - std::min(c.input_count(), first_state + carried_count(c));
}

// The axis that is scanned of the i-th scanned input of a loop's begin.
size_t scanned_axis(const NodeReader& c, size_t i) {
  const size_t input = first_state + carried_count(c) + i;
  c.check(c.rank(input) > 0, "input '{}' is a scalar and cannot be scanned", c.input(input).name);
  return scan_order(c, i, c.rank(input)).axis;
}

// The trip count of a Loop, or the extent of what a Scan goes over.
Expr round_limit(const NodeReader& c) {
  if (c.has_input(0)) {
    const std::vector<Expr> given = c.needed_elements(0, "M");
    c.check(given.size() == 1, "one number is expected as trip count, found {}", given.size());
    return max(given[0], 0);
  }
  if (scanned_count(c) == 0) return Bounds::infinity;
  return c.shape(first_state + carried_count(c))[scanned_axis(c, 0)];
}

// A condition of a loop: one boolean.
void check_loop_condition(InferContext& c, size_t input, std::string_view role) {
  c.check(c.dtype(input) == DType::boolean, "a boolean is expected as {}, found {}", role, info(c.dtype(input)).name);
  c.one_number(input, role);
}

void infer_loop_begin(InferContext& c) {
  if (c.has_input(1)) check_loop_condition(c, 1, "first condition");
  const Expr limit = round_limit(c);
  const Expr round = c.run_time_symbol(c.node().outputs[0]->name, {0, Bounds::infinity}, "the number of the round");
  c.output(0, DType::int64, {});
  c.output_elements(0, {round});
  c.output(1, DType::boolean, {});
  const size_t carried = carried_count(c);
  for (size_t i = first_state; i < first_state + carried; ++i) c.output(i, c.dtype(i), c.shape(i));
  for (size_t i = 0; i < scanned_count(c); ++i) {
    const size_t input = first_state + carried + i;
    Shape shape = c.shape(input);
    const size_t axis = scanned_axis(c, i);
    c.same(shape[axis], limit, "what is scanned must have as many elements each");
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    c.output(input, c.dtype(input), shape);
  }
}

void define_loop_begin(DefineContext& c) {
  const Expr round = c.node().outputs[0]->elements.value().at(0);
  const Expr limit = round_limit(c);
  const size_t carried = carried_count(c);
  LoopBegin loop{*round.as_symbol(), limit, -1, {}};
  for (size_t i = first_state; i < first_state + carried; ++i) {
    Operand initial = c.in(i);
    c.elementwise([&](const std::vector<Expr>& at) { return initial(at); }, i);
    loop.carried.push_back(c.out(i).buffer);
  }
  Operand condition = c.out(1);
  NestBuilder start("condition");
  start.store(condition, {},
              c.has_input(1) ? c.in(1)(std::vector<Expr>(c.rank(1), 0)) : scalar::constant(DType::boolean, 1));
  c.emit(std::move(start));
  if (!only_counts(c.node())) {
    loop.condition = condition.buffer;
    loop.carried.push_back(condition.buffer);
  }
  c.emit(std::move(loop));

  c.elementwise([&](const std::vector<Expr>&) { return scalar::index(round); }, 0);
  for (size_t i = 0; i < scanned_count(c); ++i) {
    const size_t input = first_state + carried + i;
    Operand x = c.in(input);
    const ScanOrder order = scan_order(c, i, x.rank());
    c.elementwise(
        [&](const std::vector<Expr>& at) {
          std::vector<Expr> from = at;
          from.insert(from.begin() + static_cast<std::ptrdiff_t>(order.axis), order.place(round, limit));
          return x(from);
        },
        input);
  }
}

struct LoopOutputs : LoopPlaces {
  const Node* begin;
  Expr round, limit;
};

LoopOutputs loop_outputs(const NodeReader& c) {
  const Node* begin = c.input(0).producer;
  return {loop_places(c.node()), begin, c.input(0).elements.value().at(0), round_limit(NodeReader(*begin))};
}

// Whether a size follows from what is known before the loop: symbols that its nodes bind were made after its round.
bool is_from_outside(const LoopOutputs& loop, const Expr& size) {
  const std::set<Symbol> symbols = size.symbols();
  return std::ranges::none_of(
      symbols, [&](const Symbol& symbol) { return symbol.info().serial >= loop.round.as_symbol()->info().serial; });
}

// A dim of what a round gives, as it is known before the loop. One that the rounds compute may be that of a state.
Expr dim_from_outside(const InferContext& c, const LoopOutputs& loop, const Expr& dim) {
  if (is_from_outside(loop, dim)) return dim;
  for (size_t i = 0; i < loop.carried; ++i) {
    const Shape &before = c.shape(first_state + i), &after = c.shape(loop.next_state(i));
    for (size_t axis = 0; axis < before.size(); ++axis)
      if (proven_equal(after[axis], dim)) return before[axis];
  }
  c.fail("a round gives elements of size {}, which may change from round to round; onnxc needs one size",
         short_text(dim));
}

constexpr const char* instead_of_growing =
    "let the loop collect what a round adds, as an output that it scans, or give the state its final size before it";

// A state keeps its shape from round to round: that is what one place in memory can hold.
void infer_loop_end(InferContext& c) {
  const LoopOutputs loop = loop_outputs(c);
  for (size_t i = 0; i < loop.carried; ++i) {
    const Shape &before = c.shape(first_state + i), &after = c.shape(loop.next_state(i));
    c.check(c.dtype(first_state + i) == c.dtype(loop.next_state(i)), "state {} begins as {} and becomes {}", i,
            info(c.dtype(first_state + i)).name, info(c.dtype(loop.next_state(i))).name);
    c.check(before.size() == after.size(),
            "state {} has shape {} and a round makes it {}; onnxc needs states that keep their shape: {}", i,
            short_text(before), short_text(after), instead_of_growing);
    for (size_t axis = 0; axis < before.size(); ++axis)
      c.same(before[axis], after[axis],
             fmt::format("dim {} of state {} must stay as it is from round to round (else {})", axis, i,
                         instead_of_growing));
    c.output(i, c.dtype(first_state + i), before);
  }
  check_loop_condition(c, loop.next_condition(), "condition that the body gives");
  std::optional<Expr> rounds;
  if (only_counts(*loop.begin)) rounds = loop.limit;
  for (size_t i = 0; i < loop.collected; ++i) {
    const size_t output = loop.carried + i;
    if (!c.has_output(output)) continue;
    Shape shape;
    for (const Expr& dim : c.shape(loop.element(i))) shape.push_back(dim_from_outside(c, loop, dim));
    const size_t axis = scan_order(c, i, shape.size() + 1).axis;
    c.check(!loop.limit.is_constant(Bounds::infinity),
            "output {} collects an element a round, and no trip count says how many there can be", output);
    if (!rounds) {
      rounds = c.run_time_dim(output, axis);
      c.at_least(loop.limit, *rounds, "there are as many rounds as the trip count at most");
    }
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), *rounds);
    c.output(output, c.dtype(loop.element(i)), shape);
  }
}

// Into each state what the body made of it. A state that another one takes over is put aside first.
void hand_on_states(DefineContext& c, const LoopOutputs& loop) {
  std::vector<Operand> next;
  for (size_t i = 0; i < loop.carried; ++i) {
    Operand value = c.in(loop.next_state(i));
    auto is_value = [&](size_t state) { return &c.input(first_state + state) == &c.input(loop.next_state(i)); };
    bool is_state = false;
    for (size_t other = 0; other < loop.carried; ++other) is_state = is_state || (other != i && is_value(other));
    if (is_state) {
      Operand aside = c.temporary("state", value.dtype, value.shape);
      c.emit(copy_nest("put_aside", aside, value));
      value = aside;
    }
    next.push_back(value);
  }
  for (size_t i = 0; i < loop.carried; ++i) {
    Operand state = c.in(first_state + i);
    if (next[i].buffer != state.buffer) c.emit(copy_nest("next_state", state, next[i]));
  }
  Operand condition = c.in(1), next_condition = c.in(loop.next_condition());
  if (next_condition.buffer == condition.buffer) return;
  NestBuilder nest("condition");
  nest.store(condition, {}, next_condition(std::vector<Expr>(next_condition.rank(), 0)));
  c.emit(std::move(nest));
}

void define_loop_end(DefineContext& c) {
  const LoopOutputs loop = loop_outputs(c);
  std::vector<std::pair<Operand, size_t>> to_shorten;  // collected for as many rounds as there can be
  std::vector<Expr> bound;
  for (size_t i = 0; i < loop.collected; ++i) {
    const size_t output = loop.carried + i;
    if (!c.has_output(output)) continue;
    Operand y = c.out(output), element = c.in(loop.element(i));
    const ScanOrder order = scan_order(c, i, y.rank());
    const std::optional<Symbol> rounds = y.shape[order.axis].as_symbol();
    if (rounds && c.node().bound_symbols.contains(*rounds)) {
      bound = {y.shape[order.axis]};
      Shape capacity = y.shape;
      capacity[order.axis] = loop.limit;
      y = c.temporary("collected", y.dtype, capacity);
      to_shorten.emplace_back(y, output);
    }
    NestBuilder nest("collect");
    Shape visited = y.shape;
    visited.erase(visited.begin() + static_cast<std::ptrdiff_t>(order.axis));
    std::vector<Expr> from = nest.parallel(visited), to = from;
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(order.axis), order.place(loop.round, loop.limit));
    nest.store(y, to, element(from));
    c.emit(std::move(nest));
  }
  hand_on_states(c, loop);
  c.emit(LoopEnd{});
  if (!bound.empty()) c.bind(bound, {scalar::index(loop.round)});
  for (const auto& [collected, output] : to_shorten) {
    const Operand& from = collected;
    c.elementwise([&](const std::vector<Expr>& at) { return from(at); }, output);
  }
  for (size_t i = 0; i < loop.carried; ++i) {
    if (!c.has_output(i)) continue;
    Operand state = c.in(first_state + i);
    c.elementwise([&](const std::vector<Expr>& at) { return state(at); }, i);
  }
}

using enum StorageRule;

constexpr OpRow rows[] = {
    {"", "If", infer_if, define_if, unchanged},
    {control_flow_domain, "LoopBegin", infer_loop_begin, define_loop_begin, unchanged},
    {control_flow_domain, "LoopEnd", infer_loop_end, define_loop_end, unchanged},
};

}  // namespace

size_t branch_input(const NodeReader& node, size_t output, bool when) {
  return 1 + (when ? 0 : node.output_count()) + output;
}

void check_ranks_of_branches(const Graph& graph, const Node& node) {
  const NodeReader c(node);
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    const size_t then_input = branch_input(c, i, true), else_input = branch_input(c, i, false);
    const Value& output = *node.outputs[i];
    if (c.rank(then_input) == c.rank(else_input)) continue;
    if (!graph.is_output(&output) && std::ranges::none_of(output.uses, sees_rank)) continue;
    fail_for_ranks(c, i);
  }
}

LoopPlaces loop_places(const Node& end) {
  LoopPlaces places{carried_count(NodeReader(end)), 0};
  places.collected = end.inputs.size() - places.element(0);
  return places;
}

Node* loop_end(const Node& begin) {
  for (const Use& use : begin.outputs[0]->uses)
    if (use.node->op == find_op(control_flow_domain, "LoopEnd", 1) && use.index == 0) return use.node;
  return nullptr;
}

std::optional<int64_t> known_rounds(const Node& begin) {
  const NodeReader c(begin);
  if (!only_counts(begin) || !c.has_input(0)) return std::nullopt;
  const std::optional<std::vector<Expr>> limit = c.elements(0);
  const std::optional<int64_t> known = limit && limit->size() == 1 ? limit->at(0).constant() : std::nullopt;
  return known ? std::optional(std::max<int64_t>(*known, 0)) : std::nullopt;
}

std::optional<std::vector<Value*>> known_branch(const Node& node) {
  if (node.op->name != "If" || !node.op->domain.empty()) return std::nullopt;
  const Value& condition = *node.inputs[0];
  InferContext::check_condition(condition);
  std::optional<int64_t> holds;
  if (condition.constant)
    holds = condition.constant->as_int64().at(0);
  else if (condition.elements)
    holds = condition.elements->at(0).constant();
  if (!holds) return std::nullopt;
  const NodeReader reader(node);
  std::vector<Value*> values;
  for (size_t i = 0; i < node.outputs.size(); ++i) values.push_back(node.inputs[branch_input(reader, i, *holds != 0)]);
  return values;
}

Expr has_rounds(const Node& begin) {
  const Expr limit = round_limit(NodeReader(begin));
  return proven_at_least(limit, 1) ? Expr(1) : min(limit, 1);
}

std::span<const OpRow> control_flow_ops() { return rows; }

}  // namespace onnxc
