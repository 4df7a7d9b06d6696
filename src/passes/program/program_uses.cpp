#include "passes/program/program_uses.h"

#include <algorithm>
#include <utility>

#include "ir/program/memory_laws.h"

namespace onnxc {
namespace {

bool counts_pass(const Step& step) {
  return std::holds_alternative<LoopBegin>(step.work) || std::holds_alternative<LoopEnd>(step.work);
}

}  // namespace

ProgramUses::ProgramUses(Program& program)
    : program_(program),
      uses_(program.steps.size()),
      removed_(program.steps.size(), false),
      readers_(program.buffers.size()),
      writers_(program.buffers.size()),
      storage_readers_(program.buffers.size()),
      storage_writers_(program.buffers.size()),
      loops_(enclosing_loops(program)),
      passes_(program.steps.size()) {
  for (size_t step = 1; program.draws && step < program.steps.size(); ++step)
    passes_[step] = passes_[step - 1] + counts_pass(program.steps[step - 1]);
  for (size_t step = 0; step < program.steps.size(); ++step) enter(step, reads(program.steps[step]));
  collect_views();
}

void ProgramUses::collect_views() {
  children_.assign(program_.buffers.size(), {});
  for (size_t id = 0; id < program_.buffers.size(); ++id) {
    const Buffer& buffer = program_.buffers[id];
    if (!buffer.view && !buffer.alias) continue;
    BufferId parent = buffer.view ? buffer.view->parent : buffer.alias->parent;
    children_[static_cast<size_t>(parent)].push_back(static_cast<BufferId>(id));
  }
}

void ProgramUses::enter(size_t step, std::vector<BufferId> reads) {
  StepUse& use = uses_[step];
  use = {std::move(reads), writes(program_.steps[step]), {}, {}};
  for (BufferId id : use.reads) use.read_storages.push_back(program_.storage(id));
  for (BufferId id : use.writes) use.written_storages.push_back(program_.storage(id));
  for (BufferId id : use.reads) readers_[static_cast<size_t>(id)].insert(step);
  for (BufferId id : use.writes) writers_[static_cast<size_t>(id)].insert(step);
  for (BufferId id : use.read_storages) storage_readers_[static_cast<size_t>(id)].insert(step);
  for (BufferId id : use.written_storages) storage_writers_[static_cast<size_t>(id)].insert(step);
}

void ProgramUses::leave(size_t step) {
  for (BufferId id : uses_[step].reads) readers_[static_cast<size_t>(id)].erase(step);
  for (BufferId id : uses_[step].writes) writers_[static_cast<size_t>(id)].erase(step);
  for (BufferId id : uses_[step].read_storages) storage_readers_[static_cast<size_t>(id)].erase(step);
  for (BufferId id : uses_[step].written_storages) storage_writers_[static_cast<size_t>(id)].erase(step);
  uses_[step] = {};
}

void ProgramUses::refresh(size_t step) {
  leave(step);
  enter(step, reads(program_.steps[step]));
}

void ProgramUses::take_over(size_t producer, size_t reader) {
  std::vector<BufferId> read = uses_[reader].reads;
  std::erase_if(read, [&](BufferId id) { return std::ranges::count(uses_[producer].writes, id) > 0; });
  for (BufferId id : uses_[producer].reads)
    if (std::ranges::count(read, id) == 0) read.push_back(id);
  leave(reader);
  enter(reader, std::move(read));
}

void ProgramUses::remove(size_t step) {
  leave(step);
  removed_[step] = true;
}

void ProgramUses::refresh_storage(BufferId changed) {
  collect_views();
  std::vector<BufferId> pending{changed};
  while (!pending.empty()) {
    BufferId id = pending.back();
    pending.pop_back();
    std::set<size_t> steps = writers_[static_cast<size_t>(id)];
    steps.insert(readers_[static_cast<size_t>(id)].begin(), readers_[static_cast<size_t>(id)].end());
    for (size_t step : steps) refresh(step);
    pending.insert(pending.end(), views(id).begin(), views(id).end());
  }
}

void ProgramUses::take_new_buffers() {
  for (auto* users : {&readers_, &writers_, &storage_readers_, &storage_writers_})
    users->resize(program_.buffers.size());
  collect_views();
}

bool ProgramUses::is_written_between(BufferId id, size_t first, size_t end) const {
  const std::set<size_t>& steps = storage_writers(program_.storage(id));
  return std::any_of(steps.lower_bound(first), steps.lower_bound(end), [&](size_t step) {
    return std::ranges::any_of(uses_[step].writes,
                               [&](BufferId written) { return may_overlap(program_, id, written); });
  });
}

bool ProgramUses::is_read_between(BufferId id, size_t first, size_t end) const {
  const std::set<size_t>& steps = storage_readers(program_.storage(id));
  return std::any_of(steps.lower_bound(first), steps.lower_bound(end), [&](size_t step) {
    return std::ranges::any_of(uses_[step].reads, [&](BufferId read) { return may_overlap(program_, id, read); });
  });
}

bool ProgramUses::may_move(size_t step, size_t to) const {
  return loops_[step] == loops_[to] && passes_[step] == passes_[to] &&
         std::ranges::none_of(uses_[step].reads, [&](BufferId id) { return is_written_between(id, step + 1, to); });
}

void ProgramUses::sweep() {
  std::vector<Step> kept;
  for (size_t step = 0; step < program_.steps.size(); ++step)
    if (!removed_[step]) kept.push_back(std::move(program_.steps[step]));
  program_.steps = std::move(kept);
}

}  // namespace onnxc
