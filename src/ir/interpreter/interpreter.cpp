#include "ir/interpreter/interpreter.h"

#include <fmt/format.h>

#include "ir/interpreter/memory.h"
#include "ir/interpreter/nest_runner.h"
#include "ir/random_symbols.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

void run_step(const Step& step, Memory& memory) {
  if (const auto* nest = std::get_if<LoopNest>(&step.work)) return run_nest(*nest, memory);
  if (const auto* binding = std::get_if<SymbolBinding>(&step.work)) {
    const std::vector<int64_t> values = memory.read(binding->buffer).as_int64();
    for (size_t i = 0; i < binding->symbols.size(); ++i) memory.bind(binding->symbols[i], values[i]);
    return memory.allocate_known();
  }
  internal_error(
      fmt::format("the interpreter runs loops, not the kernel '{}'", std::get<KernelCall>(step.work).spec->describe()));
}

}  // namespace

namespace {

// Runs a program's steps, round by round if they stand in loops.
class Run {
 public:
  Run(const Program& program, Memory& memory) : program_(program), memory_(memory), loops_(enclosing_loops(program)) {}

  void run() {
    for (size_t at = 0; at < program_.steps.size();) at = run_from(at);
  }

 private:
  // Returns the step to go on with.
  size_t run_from(size_t at) {
    const Step& step = program_.steps[at];
    if (std::holds_alternative<LoopEnd>(step.work)) return *loops_[at];
    const bool counts = memory_.evaluate(step.condition) != 0;
    if (const auto* loop = std::get_if<LoopBegin>(&step.work)) return next_round(*loop, at, counts);
    if (const auto* binding = std::get_if<SymbolBinding>(&step.work); binding != nullptr && !counts) {
      for (const Symbol& symbol : binding->symbols) memory_.bind(symbol, 0);
      memory_.allocate_known();
    } else if (counts) {
      run_step(step, memory_);
    }
    return at + 1;
  }

  size_t next_round(const LoopBegin& loop, size_t at, bool counts) {
    auto [round, is_first] = rounds_.try_emplace(at, 0);
    if (!is_first) ++round->second;
    memory_.bind(loop.round, round->second);
    if (program_.draws) memory_.bind(run_pass(), memory_.evaluate(run_pass()) + 1);
    memory_.allocate_known();
    const bool holds = counts && round->second < memory_.evaluate(loop.count) &&
                       (loop.condition < 0 || memory_.read(loop.condition).as_int64()[0] != 0);
    if (holds) return at + 1;
    rounds_.erase(round);
    size_t end = at;
    while (!std::holds_alternative<LoopEnd>(program_.steps[end].work) || loops_[end] != at) ++end;
    return end + 1;
  }

  const Program& program_;
  Memory& memory_;
  const std::vector<std::optional<size_t>> loops_;
  std::map<size_t, int64_t> rounds_;  // of the loops that run, by their first step
};

}  // namespace

std::vector<Tensor> interpret(const Program& program, const std::map<Symbol, int64_t>& dims,
                              std::span<const Tensor> inputs) {
  Memory memory(program, dims, inputs);
  Run(program, memory).run();
  std::vector<Tensor> outputs;
  for (BufferId id : program.outputs) outputs.push_back(memory.read(id));
  return outputs;
}

}  // namespace onnxc
