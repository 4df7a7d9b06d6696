#include "pipeline/programs.h"

#include <algorithm>

#include "codegen/cpu/cpu_target.h"
#include "codegen/hip/hip_target.h"
#include "ir/node_pattern.h"
#include "machine/gpu_machines.h"
#include "passes/graph/reduce_precision.h"
#include "passes/lowering/lower.h"
#include "support/diagnostics.h"
#include "toolchain/march.h"

namespace onnxc {
namespace {

StoragePrecision precision_of(const Options& options) {
  return {*parse_dtype(options.precision), options.keep_float32};
}

NarrowProducts narrow_products(const Options& options, const std::vector<const Graph*>& graphs) {
  NarrowProducts products{.bfloat16 = precision_of(options).dtype == DType::bfloat16};
  for (const Graph* graph : graphs)
    for (const auto& value : graph->values()) {
      products.bfloat16 |= value->dtype == DType::bfloat16;
      products.int8 |= value->dtype == DType::int8 || value->dtype == DType::uint8;
    }
  return products;
}

PassConditions conditions_of(const Options& options, std::span<const Target> targets) {
  return {options.optimization > 0, precision_of(options).dtype != DType::float32, targets};
}

template <class Pass>
bool runs(const Pass& pass, const PassConditions& conditions, const Options& options) {
  return applies(pass.when, conditions) &&
         std::ranges::find(options.skipped_passes, pass.name) == options.skipped_passes.end();
}

// Graph to program, and program to program. `report`, if there is one, hears of the choice of kernels.
Program lower_graph(const Options& options, PassRunner& passes, const Graph& graph, const Target& target,
                    Report* report) {
  const bool optimizes = options.optimization > 0;
  const KernelChoices choices = optimizes ? passes.choose_kernels(graph, target) : KernelChoices();
  if (report != nullptr) report->add_offers(target, graph, choices);
  Program program = passes.lower([&] { return lower(graph, choices); });
  const PassConditions conditions = conditions_of(options, {&target, 1});
  for (const ProgramPass& pass : program_passes())
    if (runs(pass, conditions, options)) passes.run(pass, program, target);
  if (!options.states.empty()) passes.run("bind_states", program, [&] { bind_states(program, options.states); });
  return program;
}

// The runtime counts the levels of a model once, for its CPUs and its GPUs.
void check_levels(const Programs& programs) {
  const auto levels = [](const Program& program) { return std::ranges::count_if(program.steps, begins_level); };
  for (const GpuVariant& gpu : programs.gpus)
    internal_check(levels(gpu.program) == levels(programs.bound()), "as many levels on each GPU as on the CPU");
}

}  // namespace

std::vector<Program*> Programs::all() {
  std::vector<Program*> programs;
  if (cpu) programs.push_back(&*cpu);
  for (CpuVariant& variant : variants) programs.push_back(&variant.program);
  for (GpuVariant& variant : gpus) programs.push_back(&variant.program);
  return programs;
}

std::vector<CpuMachine> machines_of(const Options& options, const std::vector<const Graph*>& graphs) {
  return resolve_marches(options.marches, options.compiler, narrow_products(options, graphs));
}

std::vector<machine::GpuMachine> gpus_of(const Options& options) {
  std::vector<machine::GpuMachine> gpus;
  for (const std::string& name : options.gpus) gpus.push_back(*machine::find_gpu(name));
  return gpus;
}

std::vector<Target> targets_of(const Options& options, std::span<const CpuMachine> machines) {
  std::vector<Target> targets;
  const auto cpu = [&](const CpuMachine& machine) { return cpu_target(machine, weight_form(options.weights)); };
  if (options.for_cpu()) std::ranges::transform(machines, std::back_inserter(targets), cpu);
  if (options.for_gpu())
    for (const machine::GpuMachine& gpu : gpus_of(options))
      targets.push_back(hip_target(float32_products(options.fp32), gpu));
  return targets;
}

void optimize_graph(const Options& options, PassRunner& passes, Graph& graph, std::span<const Target> targets) {
  const PassConditions conditions = conditions_of(options, targets);
  for (const GraphPass& pass : graph_passes())
    if (runs(pass, conditions, options)) passes.run(pass, graph);
  // Last, since the passes above compute weights, and expect a node's types to be those that ONNX allows.
  if (conditions.narrows)
    passes.run("reduce_precision", graph, [&] { reduce_precision(graph, precision_of(options)); });
}

Programs lower_for_all(const Options& options, PassRunner& passes, const Graph& graph, std::span<const Target> targets,
                       Report& report) {
  Programs programs;
  const auto cpu_of = [](const Target& target) { return std::get_if<CpuMachine>(&target.machine); };
  const auto cpus = static_cast<size_t>(std::ranges::count_if(targets, cpu_of));
  for (const Target& target : targets) {
    auto lowered = [&](Report* hears) { return lower_graph(options, passes, graph, target, hears); };
    const CpuMachine* const cpu = cpu_of(target);
    // The report is of the last CPU, as its steps are.
    if (cpu != nullptr && programs.cpu)
      programs.variants.push_back({*cpu, lowered(programs.variants.size() + 2 == cpus ? &report : nullptr)});
    else if (cpu != nullptr)
      programs.cpu = lowered(cpus == 1 ? &report : nullptr);
    else if (options.emit != Emit::ir || (!programs.cpu && programs.gpus.empty()))
      programs.gpus.push_back(
          {std::get<machine::GpuMachine>(target.machine), lowered(programs.gpus.empty() ? &report : nullptr)});
  }
  check_levels(programs);
  return programs;
}

}  // namespace onnxc
