// What the passes ask a target: which nodes it has kernel templates for, and what those can take along.
#pragma once

#include <string>

#include "ir/graph.h"
#include "ir/program/program.h"
#include "passes/lowering/lower.h"

namespace onnxc {

enum class LayoutDemand : uint8_t { none, rows, blocks };

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string name() const = 0;

  // The layout that a kernel template gives an output of this rank, when the target has one for the node.
  virtual bool prefers_blocked(const Node& node) const = 0;
  virtual Layout blocked_layout(size_t rank) const = 0;
  // What the template for the node reads input 0 in, if there is one and it matters.
  virtual LayoutDemand demand(const Node& /*node*/) const { return LayoutDemand::none; }
  // Whether a node whose template prefers blocks has one as well that gives a row-major output.
  virtual bool can_give_rows(const Node& /*node*/) const { return false; }

  // Writes the call of a kernel template for the node; false when the node's definition is to be used instead.
  virtual bool lower(const Node& node, LoweringContext& context) const = 0;

  // Whether the kernel can apply `epilogue` (in which accumulator 0 is its own result) and store to `output`.
  virtual bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                             BufferId output) const = 0;

  // One kernel in place of three that follow one another, `weights` reading the output of `scores` and `product` that
  // of `weights`: a matrix product, a softmax and a matrix product. Nothing where the target has none for them.
  virtual std::optional<KernelCall> attention(const Program&, const KernelCall& /*scores*/,
                                              const KernelCall& /*weights*/, const KernelCall& /*product*/) const {
    return std::nullopt;
  }
  // One kernel in place of a convolution and a max pool that reads its output. Nothing where the target has none.
  virtual std::optional<KernelCall> pooled_convolution(const Program&, const KernelCall& /*convolution*/,
                                                       const KernelCall& /*pool*/) const {
    return std::nullopt;
  }
};

}  // namespace onnxc
