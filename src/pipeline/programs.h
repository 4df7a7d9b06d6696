// The way from the graph to a program for each target.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codegen/model/emit.h"
#include "ir/graph.h"
#include "ir/program/program.h"
#include "machine/cpu_machine.h"
#include "machine/gpu_machine.h"
#include "passes/lowering/target.h"
#include "pipeline/options.h"
#include "pipeline/pass_runner.h"
#include "report/report.h"

namespace onnxc {

// The CPUs of --march, the least capable first: what the types of the graphs gain from decides "native".
std::vector<CpuMachine> machines_of(const Options& options, const std::vector<const Graph*>& graphs);
// The rows that --gpu-arch names.
std::vector<machine::GpuMachine> gpus_of(const Options& options);
// The targets of a compile: these CPUs, then the GPUs.
std::vector<Target> targets_of(const Options& options, std::span<const CpuMachine> machines);

// Graph to graph, for all targets.
void optimize_graph(const Options& options, PassRunner& passes, Graph& graph, std::span<const Target> targets);

// The model's program for a card.
struct GpuVariant {
  machine::GpuMachine machine;
  Program program;
};

struct Programs {
  std::optional<Program> cpu;
  std::vector<CpuVariant> variants;  // for the CPUs after the first
  std::vector<GpuVariant> gpus;

  // The program that the runtime binds before it asks for a target.
  const Program& bound() const { return cpu ? *cpu : gpus.front().program; }
  // The program of the most capable CPU.
  const Program& best_cpu() const { return variants.empty() ? *cpu : variants.back().program; }
  // CPUs first.
  std::vector<Program*> all();
};
// A program for each target, from the same graph.
Programs lower_for_all(const Options& options, PassRunner& passes, const Graph& graph, std::span<const Target> targets,
                       Report& report);

}  // namespace onnxc
