// Checks what every reader of a program relies on; a failure is a bug of the pass that built it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/loops/text.h"
#include "ir/program/bounds_law.h"
#include "ir/program/memory_laws.h"
#include "ir/program/operand_law.h"
#include "ir/program/program.h"
#include "support/checked.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  internal_error("program: " + fmt::format(format, std::forward<Arguments>(arguments)...));
}
// For arguments that cost nothing if all is right; if they are texts to be made, `fail`.
template <class... Arguments>
void check(bool condition, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (!condition) fail(format, std::forward<Arguments>(arguments)...);
}

void check_layout(BufferId id, const Buffer& buffer) {
  std::vector<int> whole(buffer.shape.size()), blocks(buffer.shape.size()), within(buffer.shape.size());
  for (const PhysicalAxis& axis : buffer.layout.axes) {
    check(axis.axis < buffer.shape.size(), "the layout of b{} names axis {} of {}", id, axis.axis, buffer.shape.size());
    auto& count = axis.part == PhysicalAxis::Part::whole    ? whole
                  : axis.part == PhysicalAxis::Part::blocks ? blocks
                                                            : within;
    ++count[axis.axis];
  }
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    check((whole[i] == 1 && blocks[i] == 0 && within[i] == 0) || (whole[i] == 0 && blocks[i] == 1 && within[i] == 1),
          "the layout of b{} has axis {} neither once whole nor once in blocks", id, i);
}

// The chain from a view or alias to its storage ends.
void check_parents(const Program& program, BufferId id) {
  auto count = static_cast<BufferId>(program.buffers.size());
  BufferId at = id;
  for (BufferId length = 0; program.buffer(at).view || program.buffer(at).alias; ++length) {
    const Buffer& buffer = program.buffer(at);
    at = buffer.view ? buffer.view->parent : buffer.alias->parent;
    check(at >= 0 && at < count, "b{} is laid over b{}, which does not exist", id, at);
    check(length < count, "b{} is laid over itself", id);
  }
}

bool is_seen_by_caller(BufferKind kind) {
  return kind == BufferKind::input || kind == BufferKind::output || kind == BufferKind::state;
}

void check_buffer(const Program& program, BufferId id) {
  const Buffer& buffer = program.buffer(id);
  check(buffer.dtype != DType::undefined, "b{} has no dtype", id);
  check(!(buffer.view && buffer.alias), "b{} is both a view and an alias", id);
  check(!buffer.constant || buffer.kind == BufferKind::constant, "b{} has a value but is not a constant", id);
  check_layout(id, buffer);
  if (is_seen_by_caller(buffer.kind))
    check(buffer.layout.is_row_major(), "b{} is the caller's memory but not row-major", id);
  if (is_seen_by_caller(buffer.kind))
    check(!is_sub_byte(buffer.dtype), "b{} is the caller's memory but its elements are {}", id,
          info(buffer.dtype).name);
  check_parents(program, id);
  if (buffer.view) {
    const Buffer& parent = program.buffer(buffer.view->parent);
    check(parent.shape.size() == buffer.shape.size() && buffer.view->shift.size() == buffer.shape.size(),
          "b{} is a view of another rank than b{}", id, buffer.view->parent);
    check(parent.dtype == buffer.dtype && parent.layout == buffer.layout, "b{} is not laid out as its parent b{}", id,
          buffer.view->parent);
  }
  if (buffer.alias) {
    const Buffer& parent = program.buffer(buffer.alias->parent);
    check(parent.dtype == buffer.dtype && parent.layout.is_row_major() && buffer.layout.is_row_major(),
          "b{} and its parent b{} are not both row-major of one dtype", id, buffer.alias->parent);
  }
}

// Checks one nest: names in scope, ranks and dtypes.
class NestChecker {
 public:
  NestChecker(const Program& program, const LoopNest& nest) : program_(program), nest_(nest) {}

  void run() {
    check_names();
    for (const Store& store : nest_.stores) check_store(store);
  }

  // Checks a value that the nest hands on without storing it.
  void run(const Scalar& value) {
    check_names();
    check_scalar(value, value.dtype());
  }

 private:
  void check_names() {
    for (const Axis& axis : nest_.axes) {
      check(!axis.extent.symbols().contains(axis.symbol), "nest {}: the extent of {} names it", nest_.name,
            axis.symbol.name());
      check(axes_.insert(axis.symbol).second, "nest {}: axis {} appears twice", nest_.name, axis.symbol.name());
    }
    for (const Let& let : nest_.lets) pending_lets_.insert(let.symbol);
    for (const Let& let : nest_.lets) {
      check_scalar(let.value, DType::int64);
      pending_lets_.erase(let.symbol);
    }
    for (const Accumulator& accumulator : nest_.accumulators) check_accumulator(accumulator);
    accumulators_visible_ = true;
    reduce_visible_ = false;
  }

  void check_accumulator(const Accumulator& accumulator) {
    const bool is_argument = is_argument_reduction(accumulator.kind);
    check_scalar(accumulator.element, is_argument ? accumulator.element.dtype() : accumulator.dtype);
    check(!is_argument || accumulator.dtype == DType::int64, "nest {}: a position is an int64", nest_.name);
    check_expr(accumulator.position);
  }

  void check_store(const Store& store) {
    check_access(store.buffer, store.indices);
    check(program_.buffer(store.buffer).kind != BufferKind::input &&
              program_.buffer(program_.storage(store.buffer)).kind != BufferKind::constant,
          "nest {} writes b{}, an input or a constant", nest_.name, store.buffer);
    check_scalar(store.value, program_.buffer(store.buffer).dtype);
    if (store.condition) check_scalar(store.condition, DType::boolean);
  }

  void check_access(BufferId id, const std::vector<Expr>& indices) {
    check(id >= 0 && static_cast<size_t>(id) < program_.buffers.size(), "nest {}: b{} does not exist", nest_.name, id);
    check(indices.size() == program_.buffer(id).shape.size(), "nest {}: {} indices into b{}, which has rank {}",
          nest_.name, indices.size(), id, program_.buffer(id).shape.size());
    check(!program_.buffer(id).is_packed, "nest {}: b{} is packed for a kernel", nest_.name, id);
    for (const Expr& index : indices) check_expr(index);
  }

  void check_scalar(const Scalar& scalar, DType expected) {
    check(static_cast<bool>(scalar), "nest {}: an empty scalar", nest_.name);
    check(scalar.dtype() == expected, "nest {}: a value is {}, not {}", nest_.name, info(scalar.dtype()).name,
          info(expected).name);
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::index) check_expr(node.expr);
      if (node.op == ScalarOp::accumulator)
        check(accumulators_visible_ && static_cast<size_t>(node.slot) < nest_.accumulators.size() &&
                  nest_.accumulators[static_cast<size_t>(node.slot)].dtype == node.dtype,
              "nest {}: acc{} is not known here as {}", nest_.name, node.slot, info(node.dtype).name);
      if (node.op != ScalarOp::load) return;
      check_access(node.buffer, node.indices);
      check(program_.buffer(node.buffer).dtype == node.dtype, "nest {}: b{} is loaded as {}", nest_.name, node.buffer,
            info(node.dtype).name);
    });
  }

  // Symbols that are not bound in the nest are dims; an axis of another nest is told by its extent.
  void check_expr(const Expr& expr) {
    for (const Symbol& symbol : expr.symbols()) {
      check(!pending_lets_.contains(symbol), "nest {}: '{}' is used before it is bound", nest_.name, symbol.name());
      if (!symbol.info().extent) continue;
      check(axes_.contains(symbol), "nest {}: '{}' is an axis of another nest", nest_.name, symbol.name());
      check(reduce_visible_ || !is_reduce(symbol), "nest {}: a store uses the reduce axis '{}'", nest_.name,
            symbol.name());
    }
  }

  bool is_reduce(const Symbol& symbol) const {
    return std::ranges::any_of(
        nest_.axes, [&](const Axis& axis) { return axis.symbol == symbol && axis.kind == AxisKind::reduce; });
  }

  const Program& program_;
  const LoopNest& nest_;
  std::set<Symbol> axes_, pending_lets_;
  bool accumulators_visible_ = false, reduce_visible_ = true;
};

void check_memory(const Program& program, const LoopNest& nest) {
  const std::optional<std::string> fault = memory_fault(program, nest);
  check(!fault, "nest {} {}", nest.name, fault.value_or(""));
}

// Checks one call of a kernel: its operands are those that it was made for, and it writes none that it reads.
class CallChecker {
 public:
  CallChecker(const Program& program, const KernelCall& call)
      : program_(program), call_(call), name_(call.spec->describe()) {}

  void run() {
    const KernelOperands expected = call_.spec->operands();
    check(call_.inputs.size() == expected.inputs.size(), "kernel {} has {} inputs, not {}", name_, call_.inputs.size(),
          expected.inputs.size());
    for (size_t i = 0; i < call_.inputs.size(); ++i) check_operand(call_.inputs[i], expected.inputs[i]);
    check_operand(call_.output, expected.output);
    check_written(call_.output);
    if (call_.workspace) check_written(*call_.workspace);
    check_epilogue(call_.inner_epilogue);
    check_epilogue(call_.epilogue);
    check_stored(call_.epilogue);
    const std::optional<std::string> fault = memory_fault(program_, call_);
    check(!fault, "kernel {} {}", name_, fault.value_or(""));
  }

 private:
  void check_exists(BufferId id) {
    check(id >= 0 && static_cast<size_t>(id) < program_.buffers.size(), "kernel {}: b{} does not exist", name_, id);
  }

  void check_operand(BufferId id, const KernelOperand& expected) {
    check_exists(id);
    const Buffer& buffer = program_.buffer(id);
    const bool is_taken = expected.types.empty()
                              ? is_kernel_type(buffer.dtype)
                              : std::ranges::find(expected.types, buffer.dtype) != expected.types.end();
    check(is_taken, "kernel {}: b{} is {}, which it does not take", name_, id, info(buffer.dtype).name);
    check(buffer.is_packed == expected.is_packed, "kernel {}: b{} is {}packed", name_, id,
          expected.is_packed ? "not " : "");
    if (!expected.layouts.empty() && std::ranges::find(expected.layouts, buffer.layout) == expected.layouts.end())
      fail("kernel {}: b{} has layout {}", name_, id, buffer.layout.to_string());
    check(call_.spec->accepts_views() || is_whole(program_, id), "kernel {}: b{} is a part of a buffer", name_, id);
    check(has_strides(id), "kernel {}: b{} is a part of a buffer under another shape", name_, id);
  }

  // Whether an axis goes the same way everywhere: in a part under another shape it need not.
  bool has_strides(BufferId id) const {
    while (program_.buffer(id).view) id = program_.buffer(id).view->parent;
    return is_whole(program_, id);
  }

  void check_written(BufferId id) {
    check_exists(id);
    const BufferKind kind = program_.buffer(program_.storage(id)).kind;
    check(kind != BufferKind::input && kind != BufferKind::constant, "kernel {} writes b{}, an input or a constant",
          name_, id);
  }

  void check_stored(const Epilogue& epilogue) {
    if (!epilogue.value) return;
    const Buffer& output = program_.buffer(call_.output);
    check(epilogue.value.dtype() == output.dtype, "kernel {}: the epilogue gives {}, but b{} is {}", name_,
          info(epilogue.value.dtype()).name, call_.output, info(output.dtype).name);
  }

  // As the value of a nest over its axes, in which the kernel's result is the accumulator.
  void check_epilogue(const Epilogue& epilogue) {
    if (!epilogue.value) return;
    LoopNest nest;
    nest.name = name_;
    nest.axes = epilogue.axes;
    const DType sums = call_.spec->accumulator();
    nest.accumulators = {{ReduceKind::sum, sums, scalar::constant(sums, 0), {}}};
    NestChecker(program_, nest).run(epilogue.value);
  }

  const Program& program_;
  const KernelCall& call_;
  const std::string name_;
};

// The sizes that a step works with: of the memory that it touches, and in its own expressions.
std::set<Symbol> symbols_of(const Program& program, const Step& step) {
  std::set<Symbol> symbols;
  auto add = [&](const Expr& expr) { symbols.merge(expr.symbols()); };
  auto add_buffer = [&](BufferId id) {
    std::ranges::for_each(program.buffer(id).shape, add);
    std::ranges::for_each(program.buffer(program.storage(id)).shape, add);
  };
  std::ranges::for_each(reads(step), add_buffer);
  std::ranges::for_each(writes(step), add_buffer);
  add(step.condition);
  if (const auto* loop = std::get_if<LoopBegin>(&step.work)) add(loop->count);
  const auto* nest = std::get_if<LoopNest>(&step.work);
  if (nest == nullptr) return symbols;
  for (const Axis& axis : nest->axes) add(axis.extent);
  auto add_scalar = [&](const Scalar& scalar) {
    if (!scalar) return;
    visit(scalar, [&](const ScalarNode& node) {
      if (node.op == ScalarOp::index) add(node.expr);
      std::ranges::for_each(node.indices, add);
    });
  };
  for (const Let& let : nest->lets) add_scalar(let.value);
  for (const Accumulator& accumulator : nest->accumulators) add_scalar(accumulator.element);
  for (const Store& store : nest->stores) {
    add_scalar(store.value);
    add_scalar(store.condition);
    std::ranges::for_each(store.indices, add);
  }
  return symbols;
}

void check_loops(const Program& program) {
  int open = 0;
  for (const Step& step : program.steps) {
    if (std::holds_alternative<LoopBegin>(step.work)) ++open;
    if (std::holds_alternative<LoopEnd>(step.work)) check(--open >= 0, "a loop ends that did not begin");
    const auto* loop = std::get_if<LoopBegin>(&step.work);
    check(loop == nullptr || loop->condition < 0 || program.buffer(loop->condition).dtype == DType::boolean,
          "a loop's condition is not a boolean");
  }
  check(open == 0, "a loop does not end");
}

// The storages that hold something at a step. After a loop that may have no round these are the ones from before it,
// those without an element then, and those that collect something of each round, if they are read for as many rounds as
// there were.
class Written {
 public:
  explicit Written(const Program& program) : program_(program) {
    for (size_t i = 0; i < program.buffers.size(); ++i)
      if (const BufferKind kind = program.buffers[i].kind;
          kind == BufferKind::input || kind == BufferKind::constant || kind == BufferKind::state)
        storages_.insert(static_cast<BufferId>(i));
  }

  bool contains(BufferId id) const { return storages_.contains(program_.storage(id)); }

  void add_step(const Step& step) {
    if (const auto* loop = std::get_if<LoopBegin>(&step.work)) loops_.push_back({loop, storages_, {}});
    for (BufferId id : writes(step)) storages_.insert(program_.storage(id));
    note_collected(step);
    if (!std::holds_alternative<LoopEnd>(step.work)) return;
    const Loop loop = std::move(loops_.back());
    loops_.pop_back();
    if (loop.begin->condition < 0 && proven_at_least(loop.begin->count, 1)) return;
    std::erase_if(storages_, [&](BufferId id) {
      return !loop.before.contains(id) && !loop.collected.contains(id) && !varies_with_rounds(id, *loop.begin);
    });
  }

 private:
  struct Loop {
    const LoopBegin* begin;
    std::set<BufferId> before, collected;
  };

  // Notes that a step stores at a place of the round.
  void note_collected(const Step& step) {
    for (Loop& loop : loops_) {
      for (BufferId id : writes(step))
        if (is_part_of_round(id, loop.begin->round)) loop.collected.insert(program_.storage(id));
      const auto* nest = std::get_if<LoopNest>(&step.work);
      if (nest == nullptr) continue;
      for (const Store& store : nest->stores)
        if (names(store.indices, loop.begin->round)) loop.collected.insert(program_.storage(store.buffer));
    }
  }

  static bool names(const std::vector<Expr>& exprs, const Symbol& symbol) {
    return std::ranges::any_of(exprs, [&](const Expr& expr) { return expr.symbols().contains(symbol); });
  }

  // Whether it is a view that begins at a place of the round.
  bool is_part_of_round(BufferId id, const Symbol& round) const {
    for (; program_.buffer(id).view; id = program_.buffer(id).view->parent)
      if (names(program_.buffer(id).view->shift, round)) return true;
    return false;
  }

  bool varies_with_rounds(BufferId id, const LoopBegin& loop) const {
    const std::set<Symbol> counted = loop.count.symbols();
    return std::ranges::any_of(program_.buffer(id).shape, [&](const Expr& extent) {
      const std::set<Symbol> symbols = extent.symbols();
      return symbols.contains(loop.round) ||
             std::ranges::any_of(symbols, [&](const Symbol& symbol) { return counted.contains(symbol); });
    });
  }

  const Program& program_;
  std::set<BufferId> storages_;
  std::vector<Loop> loops_;
};

void check_binding(const Program& program, const SymbolBinding& binding) {
  const Buffer& buffer = program.buffer(binding.buffer);
  const std::optional<std::vector<int64_t>> dims = constant_dims(buffer.shape);
  check(dims && checked_product(*dims) == std::ssize(binding.symbols), "b{} has not one element for each of {} symbols",
        binding.buffer, binding.symbols.size());
  check(is_integer(buffer.dtype) || buffer.dtype == DType::boolean, "sizes are bound from b{}, which is {}",
        binding.buffer, info(buffer.dtype).name);
}

std::string name_of(const Step& step) {
  if (const auto* nest = std::get_if<LoopNest>(&step.work)) return "nest " + nest->name;
  if (const auto* call = std::get_if<KernelCall>(&step.work)) return "kernel " + call->spec->describe();
  return "step";
}

}  // namespace

void verify(const Program& program) {
  check_loops(program);
  const StepFacts facts(program);
  const BoundsLaw bounds(program, facts);
  const OperandLaw operands(program, facts);
  const std::map<Symbol, size_t> bound_by = binding_steps(program);
  for (size_t i = 0; i < program.buffers.size(); ++i) check_buffer(program, static_cast<BufferId>(i));
  Written written(program);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!bound_by.empty())
      for (const Symbol& symbol : symbols_of(program, step)) {
        auto binding = bound_by.find(symbol);
        check(binding == bound_by.end() || binding->second < i, "step {} uses '{}' before it is bound", i,
              symbol.name());
      }
    if (const auto* binding = std::get_if<SymbolBinding>(&step.work)) check_binding(program, *binding);
    if (const auto* nest = std::get_if<LoopNest>(&step.work)) {
      NestChecker(program, *nest).run();
      check_memory(program, *nest);
    }
    if (const auto* call = std::get_if<KernelCall>(&step.work)) CallChecker(program, *call).run();
    if (const std::optional<std::string> fault = bounds.fault(i)) fail("{} {}", name_of(step), *fault);
    if (const std::optional<std::string> fault = operands.fault(i)) fail("{} {}", name_of(step), *fault);
    written.add_step(step);
    for (BufferId id : reads(step)) check(written.contains(id), "b{} is read before it is written", id);
  }
  for (const State& state : program.states)
    check(program.buffer(state.buffer).kind == BufferKind::state, "b{} is kept for the next run and is not a state",
          state.buffer);
  for (BufferId id : program.outputs) {
    check(program.buffer(id).kind == BufferKind::output, "b{} is given out and is not an output", id);
    check(written.contains(id), "output b{} is never written", id);
  }
}

}  // namespace onnxc
