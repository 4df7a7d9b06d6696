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

// The place of the buffer of that name among the inputs or outputs.
std::optional<size_t> place_of(const Program& program, const std::vector<BufferId>& ids, const std::string& name) {
  const auto found = std::ranges::find_if(ids, [&](BufferId id) { return program.buffer(id).name == name; });
  return found == ids.end() ? std::nullopt : std::optional(static_cast<size_t>(found - ids.begin()));
}

BufferId take(std::vector<BufferId>& ids, size_t place) {
  const BufferId id = ids[place];
  ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place));
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
    std::optional<BufferId> input, output;
    if (const auto place = place_of(program_, program_.inputs, names.input)) {
      input = take(program_.inputs, *place);
      forget_input(*place);
    }
    if (const auto place = place_of(program_, program_.outputs, names.output)) output = take(program_.outputs, *place);
    if (!input && !output) return;
    const BufferId state = input.value_or(output.value_or(-1));
    program_.buffer(state).kind = BufferKind::state;
    program_.states.push_back({names.input, state});
    if (!input || !output) return;
    program_.buffer(*output).kind = BufferKind::temporary;
    const ProgramUses uses(program_);
    if (!lay_over(*output, state, uses) && !lay_over_later(*output, state, uses))
      copy(*output, {names.input, "State", "", 0}, state, uses);
  }

 private:
  // Rules of sizes name inputs by their places.
  void forget_input(size_t place) {
    for (SizeRule& rule : program_.size_rules) {
      std::erase_if(rule.places, [&](const SizeRule::Place& at) { return at.input == place; });
      for (SizeRule::Place& at : rule.places) at.input -= at.input > place ? 1 : 0;
    }
  }

  // From the first to the last of the steps. A loop counts as a whole, since its steps follow one another round by
  // round.
  std::optional<Range> range_of(const std::set<size_t>& steps) const {
    if (steps.empty()) return std::nullopt;
    const std::vector<Range> whole = whole_loops(program_);
    return Range{whole[*steps.begin()].first, whole[*steps.rbegin()].last};
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
  bool lay_over(BufferId output, BufferId state, const ProgramUses& uses) {
    Buffer& written = program_.buffer(output);
    const Buffer& kept = program_.buffer(state);
    if (!std::ranges::equal(written.shape, kept.shape, proven_equal)) return false;
    const std::optional<Range> reading = range_of(uses.storage_readers(state)),
                               writing = range_of(uses.storage_writers(output));
    written.alias = Buffer::Alias{state};
    if (!reading || !writing || reading->last < writing->first) return true;
    if (reading->last == writing->first && may_store_in_place(writing->first)) return true;
    written.alias.reset();
    return false;
  }

  // The same with the steps that write the output after the last that only reads the state, if they compute there what
  // they do at their places.
  bool lay_over_later(BufferId output, BufferId state, const ProgramUses& uses) {
    const std::vector<size_t> order = delayed(output, state, uses);
    if (order.empty()) return false;
    std::vector<Step> before = program_.steps, steps;
    for (const size_t step : order) steps.push_back(std::move(program_.steps[step]));
    program_.steps = std::move(steps);
    if (lay_over(output, state, ProgramUses(program_))) return true;
    program_.steps = std::move(before);
    return false;
  }

  // The steps in that order; empty if they may not move.
  std::vector<size_t> delayed(BufferId output, BufferId state, const ProgramUses& uses) const {
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
    const auto* const call = std::get_if<KernelCall>(&program_.steps[step].work);
    const auto is_own = [&](BufferId id) { return is_of_output(id) || (call != nullptr && call->workspace == id); };
    const std::vector<BufferId> written = writes(program_.steps[step]), read = reads(program_.steps[step]);
    if (std::ranges::none_of(written, is_of_output)) return std::ranges::none_of(read, is_of_output);
    return std::ranges::all_of(written, is_own) && uses.may_move(step, last) &&
           std::ranges::none_of(read, [&](BufferId id) { return uses.is_written_between(id, last, last + 1); });
  }

  void copy(BufferId output, const Origin& origin, BufferId state, const ProgramUses& uses) {
    const std::optional<Range> reading = range_of(uses.storage_readers(state)),
                               writing = range_of(uses.storage_writers(output));
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
