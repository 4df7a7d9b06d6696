#include "codegen/step_title.h"

#include <fmt/format.h>

#include "codegen/call/typed_call.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/host/step_flow.h"

namespace onnxc {
namespace {

// The arithmetic of a kernel that reads this type, which a title need not say.
std::string usual_arithmetic(DType input, const CpuKernelSpec& spec) {
  if (input == DType::float32) return "float32";
  return spec.accumulator() == DType::int32 ? "int8" : spec.arithmetic();
}

std::string title(const Program& program, const KernelCall& call) {
  const std::string description = call.spec->describe();
  const auto* spec = spec_of<CpuKernelSpec>(call);
  if (spec == nullptr) return description;
  std::vector<BufferId> operands = call.inputs;
  operands.push_back(call.output);
  for (const BufferId id : operands) {
    const DTypeInfo& type = info(program.buffer(id).dtype);
    if (type.compute != type.dtype) return fmt::format("{}, {} in {}", description, type.name, spec->arithmetic());
  }
  const DType input = program.buffer(call.inputs[0]).dtype;
  if (spec->arithmetic() == usual_arithmetic(input, *spec)) return description;
  return fmt::format("{}, {} in {}", description, info(input).name, spec->arithmetic());
}

std::string title(const Program& /*program*/, const LoopNest& nest) { return "loops " + nest.name; }

template <class Flow>
std::string title(const Program& /*program*/, const Flow& flow) {
  return describe_flow(flow);
}

}  // namespace

std::string step_title(const Program& program, const Step& step) {
  return std::visit([&](const auto& work) { return title(program, work); }, step.work);
}

}  // namespace onnxc
