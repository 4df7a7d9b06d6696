// The GPU as a target: blocks of 16 channels where the kernels of codegen/hip/kernels are used, and loop nests in their
// default schedule for all else.
#pragma once

#include "codegen/target.h"

namespace onnxc {

class HipTarget : public Target {
 public:
  std::string name() const override { return "hip"; }
  bool prefers_blocked(const Node& node) const override;
  Layout blocked_layout(size_t rank) const override;
  bool lower(const Node& node, LoweringContext& context) const override;
  bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                     BufferId output) const override;
};

}  // namespace onnxc
