#include "codegen/cpu/call/kernel_spec.h"

#include <fmt/format.h>

namespace onnxc {

std::string kernel_title(const Program& program, const KernelCall& call) {
  const std::string description = call.spec->describe();
  const auto* spec = dynamic_cast<const CpuKernelSpec*>(call.spec.get());
  if (spec == nullptr) return description;
  std::vector<BufferId> operands = call.inputs;
  operands.push_back(call.output);
  for (const BufferId id : operands) {
    const DTypeInfo& type = info(program.buffer(id).dtype);
    if (type.compute != type.dtype) return fmt::format("{}, {} in {}", description, type.name, spec->arithmetic());
  }
  return description;
}

}  // namespace onnxc
