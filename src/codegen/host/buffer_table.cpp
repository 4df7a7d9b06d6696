#include "codegen/host/buffer_table.h"

#include <algorithm>

#include "support/diagnostics.h"

namespace onnxc {
namespace {

// The steps between which the memory of each storage must stay as it is.
struct Lifetime {
  size_t first, last;
};

// Buffers that a loop reads last for all of its rounds, and so do those that it leaves behind. Inner loops come first,
// since what reaches over them may reach over the outer one then.
void extend_over_loops(const Program& program, std::map<BufferId, Lifetime>& lifetimes) {
  const std::vector<std::optional<size_t>> loops = enclosing_loops(program);
  for (size_t end = 0; end < program.steps.size(); ++end) {
    if (!std::holds_alternative<LoopEnd>(program.steps[end].work)) continue;
    const size_t begin = *loops[end];
    for (auto& [id, lifetime] : lifetimes) {
      const bool is_inside = lifetime.first <= end && lifetime.last >= begin;
      if (!is_inside) continue;
      if (lifetime.first < begin) lifetime.last = std::max(lifetime.last, end);
      if (lifetime.last > end) lifetime.first = std::min(lifetime.first, begin);
    }
  }
}

std::map<BufferId, Lifetime> lifetimes(const Program& program) {
  std::map<BufferId, Lifetime> result;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    std::vector<BufferId> touched = reads(program.steps[i]), written = writes(program.steps[i]);
    touched.insert(touched.end(), written.begin(), written.end());
    for (BufferId id : touched) result.try_emplace(program.storage(id), i, i).first->second.last = i;
  }
  extend_over_loops(program, result);
  return result;
}

int64_t position(const std::vector<BufferId>& ids, BufferId id) {
  const auto found = std::ranges::find(ids, id);
  internal_check(found != ids.end(), "an input or output buffer that the program lists");
  return found - ids.begin();
}

int64_t state_position(const Program& program, BufferId id) {
  const auto found = std::ranges::find(program.states, id, &State::buffer);
  internal_check(found != program.states.end(), "a state that the program lists");
  return found - program.states.begin();
}

std::string describe(const EmitContext& context, BufferId id, const std::map<BufferId, int64_t>& offsets,
                     const std::map<BufferId, Lifetime>& alive) {
  const Program& program = context.program;
  const int level = context.level(program.buffer(id).layout.element_count(program.buffer(id).shape));
  switch (program.buffer(id).kind) {
    case BufferKind::input:
      return fmt::format("{{BufferKind::input, {}, 0, 0, 0}}", position(program.inputs, id));
    case BufferKind::output:
      return fmt::format("{{BufferKind::output, {}, 0, 0, 0, {}}}", position(program.outputs, id), level);
    case BufferKind::constant:
      return fmt::format("{{BufferKind::constant, 0, 0, 0, {}}}", offsets.at(id));
    case BufferKind::temporary:
      return fmt::format("{{BufferKind::temporary, 0, {}, {}, 0, {}}}", alive.at(id).first, alive.at(id).last, level);
    case BufferKind::state:
      return fmt::format("{{BufferKind::state, {}, 0, 0, 0}}", state_position(program, id));
  }
  internal_error("a kind of buffer");
}

}  // namespace

std::vector<std::string> buffer_table(const EmitContext& context, WeightBytes& weights) {
  const Program& program = context.program;
  std::vector<BufferId> constants;
  for (BufferId id : context.storages)
    if (program.buffer(id).kind == BufferKind::constant) constants.push_back(id);
  const std::map<BufferId, int64_t> offsets = pack_weights(program, constants, weights);
  const std::map<BufferId, Lifetime> alive = lifetimes(program);
  std::vector<std::string> rows;
  for (BufferId id : context.storages)
    rows.push_back(
        fmt::format("/* b{} {} */ {}", id, describe_buffer(program.buffer(id)), describe(context, id, offsets, alive)));
  return rows;
}

}  // namespace onnxc
