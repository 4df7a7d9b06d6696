#include "passes/states/bind_states.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "ir/program/memory_laws.h"
#include "ops/nest_builder.h"
#include "passes/lowering/lower.h"
#include "passes/program/program_uses.h"

namespace onnxc {
namespace {

// Removes the buffer of that name from the inputs or outputs.
std::optional<BufferId> take(const Program& program, std::vector<BufferId>& ids, const std::string& name) {
  const auto found = std::ranges::find_if(ids, [&](BufferId id) { return program.buffer(id).name == name; });
  if (found == ids.end()) return std::nullopt;
  const BufferId id = *found;
  ids.erase(found);
  return id;
}

struct Range {
  size_t first, last;
};

// The outermost loop around each step, or itself.
std::vector<Range> whole_loops(const Program& program) {
  std::vector<Range> ranges;
  size_t open = 0, first = 0;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (open == 0) first = i;
    if (std::holds_alternative<LoopBegin>(program.steps[i].work)) ++open;
    ranges.push_back({first, i});
    if (!std::holds_alternative<LoopEnd>(program.steps[i].work)) continue;
    if (--open == 0)
      std::ranges::fill(ranges.begin() + static_cast<std::ptrdiff_t>(first), ranges.end(), Range{first, i});
  }
  return ranges;
}

class StateBinder {
 public:
  explicit StateBinder(Program& program) : program_(program) {}

  void bind(const StateNames& names) {
    const std::optional<size_t> place = place_of_input(names.input);
    const std::optional<BufferId> input = take(program_, program_.inputs, names.input);
    if (place) forget_input(*place);
    const std::optional<BufferId> output = take(program_, program_.outputs, names.output);
    if (!input && !output) return;
    const BufferId state = input.value_or(output.value_or(-1));
    program_.buffer(state).kind = BufferKind::state;
    program_.states.push_back({names.input, state});
    if (!input || !output) return;
    program_.buffer(*output).kind = BufferKind::temporary;
    if (!lay_over(*output, state) && !lay_over_later(*output, state))
      copy(*output, {names.input, "State", "", 0}, state);
  }

 private:
  std::optional<size_t> place_of_input(const std::string& name) const {
    for (size_t i = 0; i < program_.inputs.size(); ++i)
      if (program_.buffer(program_.inputs[i]).name == name) return i;
    return std::nullopt;
  }

  // Rules of sizes name inputs by their places.
  void forget_input(size_t place) {
    for (SizeRule& rule : program_.size_rules) {
      std::erase_if(rule.places, [&](const SizeRule::Place& at) { return at.input == place; });
      for (SizeRule::Place& at : rule.places) at.input -= at.input > place ? 1 : 0;
    }
  }

  // From the first to the last step that reads the storage, or that writes it. A loop counts as a whole, since its
  // steps follow one another round by round.
  std::optional<Range> steps_with(std::vector<BufferId> (*touched)(const Step&), BufferId storage) const {
    const std::vector<Range> whole = whole_loops(program_);
    std::optional<Range> range;
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      const std::vector<BufferId> ids = touched(program_.steps[i]);
      if (std::ranges::none_of(ids, [&](BufferId id) { return program_.storage(id) == storage; })) continue;
      range = range ? Range{range->first, std::max(range->last, whole[i].last)} : whole[i];
    }
    return range;
  }

  // Whether the step, which reads the state, may write to it as well: it has one store, whose place no other iteration
  // reads, or is a kernel that may.
  bool may_store_in_place(size_t step) const {
    const Work& work = program_.steps[step].work;
    if (const auto* call = std::get_if<KernelCall>(&work)) return !memory_fault(program_, *call);
    const auto* nest = std::get_if<LoopNest>(&work);
    const auto is_ordered = [](const Axis& axis) { return axis.kind == AxisKind::ordered; };
    return nest != nullptr && nest->stores.size() == 1 && std::ranges::none_of(nest->axes, is_ordered) &&
           !memory_fault(program_, *nest);
  }

  // False if the output cannot be written to the state itself.
  bool lay_over(BufferId output, BufferId state) {
    Buffer& written = program_.buffer(output);
    const Buffer& kept = program_.buffer(state);
    if (!std::ranges::equal(written.shape, kept.shape, proven_equal)) return false;
    const std::optional<Range> reading = steps_with(reads, state), writing = steps_with(writes, output);
    written.alias = Buffer::Alias{state};
    if (!reading || !writing || reading->last < writing->first) return true;
    if (reading->last == writing->first && may_store_in_place(writing->first)) return true;
    written.alias.reset();
    return false;
  }

  // The same with the steps that write the output after the last that only reads the state, if they compute there what
  // they do at their places.
  bool lay_over_later(BufferId output, BufferId state) {
    const std::vector<size_t> order = delayed(output, state);
    if (order.empty()) return false;
    std::vector<Step> before = program_.steps, steps;
    for (const size_t step : order) steps.push_back(std::move(program_.steps[step]));
    program_.steps = std::move(steps);
    if (lay_over(output, state)) return true;
    program_.steps = std::move(before);
    return false;
  }

  // The steps in that order; empty if they may not move.
  std::vector<size_t> delayed(BufferId output, BufferId state) {
    const ProgramUses uses(program_);
    const std::set<size_t>& writers = uses.storage_writers(output);
    std::optional<size_t> last;
    for (const size_t reader : uses.storage_readers(state))
      if (!writers.contains(reader)) last = reader;
    if (!last || writers.empty() || *writers.begin() > *last) return {};
    for (size_t step = *writers.begin(); step <= *last; ++step)
      if (begins_level(program_.steps[step]) || !may_be_delayed(uses, step, *last, output)) return {};
    std::vector<size_t> order;
    const auto is_moved = [&](size_t step) { return step < *last && writers.contains(step); };
    for (size_t step = 0; step < program_.steps.size(); ++step) {
      if (!is_moved(step)) order.push_back(step);
      if (step == *last) std::ranges::copy_if(writers, std::back_inserter(order), is_moved);
    }
    return order;
  }

  // Whether a step that writes the output may come after `last`; one that does not must not read it before.
  bool may_be_delayed(const ProgramUses& uses, size_t step, size_t last, BufferId output) const {
    const auto is_of_output = [&](BufferId id) { return program_.storage(id) == output; };
    const std::vector<BufferId> written = writes(program_.steps[step]), read = reads(program_.steps[step]);
    if (std::ranges::none_of(written, is_of_output)) return std::ranges::none_of(read, is_of_output);
    return std::ranges::all_of(written, is_of_output) && uses.may_move(step, last) &&
           std::ranges::none_of(read, [&](BufferId id) { return uses.is_written_between(id, last, last + 1); });
  }

  void copy(BufferId output, const Origin& origin, BufferId state) {
    const std::optional<Range> reading = steps_with(reads, state), writing = steps_with(writes, output);
    const size_t place = std::max(reading ? reading->last + 1 : 0, writing ? writing->last + 1 : 0);
    const Buffer &from = program_.buffer(output), &to = program_.buffer(state);
    Step step{copy_nest(copy_nest_name, {state, to.dtype, to.shape}, {output, from.dtype, from.shape}).take(),
              {origin}};
    program_.steps.insert(program_.steps.begin() + static_cast<std::ptrdiff_t>(place), std::move(step));
  }

  Program& program_;
};

}  // namespace

void bind_states(Program& program, const std::vector<StateNames>& states) {
  StateBinder binder(program);
  for (const StateNames& names : states) binder.bind(names);
}

}  // namespace onnxc
