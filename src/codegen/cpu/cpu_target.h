// The CPU as a target: NCHWc with blocks as wide as its vectors, and the kernels of kernels/cpu.
#pragma once

#include "machine/cpu_machine.h"
#include "passes/lowering/target.h"

namespace onnxc {

class CpuTarget : public Target {
 public:
  explicit CpuTarget(CpuMachine machine) : machine_(std::move(machine)) {}

  std::string name() const override { return "cpu"; }
  bool prefers_blocked(const Node& node) const override;
  LayoutDemand demand(const Node& node) const override;
  bool can_give_rows(const Node& node) const override;
  Layout blocked_layout(size_t rank) const override { return Layout::channel_blocked(rank, machine_.lanes()); }
  bool lower(const Node& node, LoweringContext& context) const override;
  bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                     BufferId output) const override;
  std::optional<KernelCall> attention(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                      const KernelCall& product) const override;
  std::optional<KernelCall> pooled_convolution(const Program& program, const KernelCall& convolution,
                                               const KernelCall& pool) const override;
  std::optional<KernelCall> nest_kernel(const Program& program, const LoopNest& nest) const override;

 private:
  CpuMachine machine_;
};

}  // namespace onnxc
