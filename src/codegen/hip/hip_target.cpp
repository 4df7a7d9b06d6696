#include "codegen/hip/hip_target.h"

#include "codegen/hip/conv_kernel.h"
#include "codegen/hip/kernels/conv_geometry.h"

namespace onnxc {

bool HipTarget::prefers_blocked(const Node& node) const { return takes_implicit_gemm(node); }

Layout HipTarget::blocked_layout(size_t rank) const { return Layout::channel_blocked(rank, kernels::gemm_channels); }

bool HipTarget::lower(const Node& node, LoweringContext& context) const {
  if (!takes_implicit_gemm(node)) return false;
  lower_implicit_gemm(node, context);
  return true;
}

// An epilogue is evaluated for one element at a time, at its logical indices: whatever it loads is there.
bool HipTarget::fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                              BufferId output) const {
  const size_t rank = epilogue.axes.size();
  return rank >= 3 && rank <= 5 && program.buffer(output).layout == blocked_layout(rank) &&
         is_floating(epilogue.value.dtype());
}

}  // namespace onnxc
