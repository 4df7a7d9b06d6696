#include "passes/program/take_nests.h"

#include "passes/lowering/target.h"

namespace onnxc {

void take_nests(Program& program, const Target& target) {
  for (Step& step : program.steps) {
    const auto* nest = std::get_if<LoopNest>(&step.work);
    if (nest == nullptr) continue;
    for (const NestKernel& kernel : target.nests)
      if (std::optional<KernelCall> call = kernel.take(program, *nest)) {
        step.work = *std::move(call);
        break;
      }
  }
}

}  // namespace onnxc
