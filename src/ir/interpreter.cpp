#include "ir/interpreter.h"

#include <fmt/format.h>

#include "ir/interpreter/memory.h"
#include "ir/interpreter/nest_runner.h"
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
  if (const auto* call = std::get_if<HostCall>(&step.work))
    internal_error(fmt::format("the interpreter runs loops, not the host call '{}'", call->function));
  internal_error(
      fmt::format("the interpreter runs loops, not the kernel '{}'", std::get<KernelCall>(step.work).spec->describe()));
}

}  // namespace

std::vector<Tensor> interpret(const Program& program, const std::map<Symbol, int64_t>& dims,
                              std::span<const Tensor> inputs) {
  Memory memory(program, dims, inputs);
  for (const Step& step : program.steps) run_step(step, memory);
  std::vector<Tensor> outputs;
  for (BufferId id : program.outputs) outputs.push_back(memory.read(id));
  return outputs;
}

}  // namespace onnxc
