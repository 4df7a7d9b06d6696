// What the passes ask a target: for which nodes it has kernel templates, and which epilogues and neighbours these fuse.
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

  // Whether the target's kernel template for the node writes NCHWc; and that layout for a rank.
  virtual bool prefers_blocked(const Node& node) const = 0;
  virtual Layout blocked_layout(size_t rank) const = 0;
  // The layout in which the node's kernel template reads input 0; none without a template, or if any will do.
  virtual LayoutDemand demand(const Node& /*node*/) const { return LayoutDemand::none; }
  // Whether a node whose template writes NCHWc also has one that writes a row-major output.
  virtual bool can_give_rows(const Node& /*node*/) const { return false; }

  // Adds the call of a kernel template for the node; false when the node's definition is to be used instead.
  virtual bool lower(const Node& node, LoweringContext& context) const = 0;

  // Whether the kernel can apply `epilogue`, in which accumulator 0 is the kernel's result, and store to `output`.
  virtual bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                             BufferId output) const = 0;

  // One kernel for three calls in sequence: a matrix product `scores`, a softmax `weights` that reads it, and a matrix
  // product `product` that reads the softmax. Nothing where the target has no such kernel.
  virtual std::optional<KernelCall> attention(const Program&, const KernelCall& /*scores*/,
                                              const KernelCall& /*weights*/, const KernelCall& /*product*/) const {
    return std::nullopt;
  }
  // One kernel for a convolution and a max pool that reads its output. Nothing where the target has no such kernel.
  virtual std::optional<KernelCall> pooled_convolution(const Program&, const KernelCall& /*convolution*/,
                                                       const KernelCall& /*pool*/) const {
    return std::nullopt;
  }
  // A kernel that computes what the nest does. Nothing where the target has no such kernel.
  virtual std::optional<KernelCall> nest_kernel(const Program&, const LoopNest& /*nest*/) const { return std::nullopt; }
};

}  // namespace onnxc
