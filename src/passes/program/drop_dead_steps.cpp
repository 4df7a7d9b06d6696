#include "passes/program/drop_dead_steps.h"

#include "passes/program/program_uses.h"

namespace onnxc {

void drop_dead_steps(Program& program) {
  ProgramUses uses(program);
  std::vector<bool> is_needed(program.steps.size(), false), is_read(program.buffers.size(), false);
  std::vector<size_t> pending;  // needed steps that were not yet asked what they read
  const auto need = [&](size_t step) {
    if (is_needed[step]) return;
    is_needed[step] = true;
    pending.push_back(step);
  };
  const auto read = [&](BufferId id) {
    const BufferId storage = program.storage(id);
    if (is_read[static_cast<size_t>(storage)]) return;
    is_read[static_cast<size_t>(storage)] = true;
    for (size_t writer : uses.storage_writers(storage)) need(writer);
  };
  for (BufferId output : program.outputs) read(output);
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (begins_level(program.steps[i])) need(i);
  while (!pending.empty()) {
    const size_t step = pending.back();
    pending.pop_back();
    for (BufferId id : reads(program.steps[step])) read(id);
  }
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (!is_needed[i]) uses.remove(i);
  uses.sweep();
}

}  // namespace onnxc
