// The target of programs that were read from text, whose kernels are known by their titles alone.
#pragma once

#include "passes/lowering/target.h"

namespace onnxc {

// It grants what a real target might: every epilogue whose output has the kernel's layout; attention of a matmul, a
// softmax and a matmul; a convolution and a maximum pool as one. A pass must be right whatever its target grants.
class TextTarget : public Target {
 public:
  std::string name() const override { return "text"; }
  bool prefers_blocked(const Node& /*node*/) const override { return false; }
  Layout blocked_layout(size_t rank) const override { return Layout::channel_blocked(rank, 4); }
  bool lower(const Node& /*node*/, LoweringContext& /*context*/) const override { return false; }

  bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                     BufferId output) const override;
  std::optional<KernelCall> attention(const Program& program, const KernelCall& scores, const KernelCall& weights,
                                      const KernelCall& product) const override;
  std::optional<KernelCall> pooled_convolution(const Program& program, const KernelCall& convolution,
                                               const KernelCall& pool) const override;
};

}  // namespace onnxc
