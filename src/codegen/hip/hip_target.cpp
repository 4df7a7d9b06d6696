#include "codegen/hip/hip_target.h"

#include "codegen/call/kernel_call.h"
#include "codegen/hip/attention/attention_kernel.h"
#include "codegen/hip/call/kernel_spec.h"
#include "codegen/hip/gemm/conv_kernel.h"
#include "codegen/hip/gemm/matmul_kernel.h"
#include "codegen/hip/memory_bound/channelwise_kernel.h"
#include "codegen/hip/memory_bound/row_kernel.h"
#include "support/diagnostics.h"

namespace onnxc {

kernels::Products float32_products(std::string_view name) {
  if (name == "xf32") return kernels::Products::xf32;
  if (name == "bf16x3") return kernels::Products::bf16x3;
  internal_check(name == "ieee", "a kind of products that the command line knows");
  return kernels::Products::float32;
}

bool HipTarget::prefers_blocked(const Node& node) const { return takes_implicit_gemm(node) || takes_channelwise(node); }

Layout HipTarget::blocked_layout(size_t rank) const { return Layout::channel_blocked(rank, kernels::block_channels); }

bool HipTarget::lower(const Node& node, LoweringContext& context) const {
  if (takes_implicit_gemm(node))
    lower_implicit_gemm(node, products_, context);
  else if (takes_channelwise(node))
    lower_channelwise(node, context);
  else if (takes_matrix_product(node))
    lower_matrix_product(node, products_, context);
  else
    return lower_rows(node, context);
  return true;
}

// An epilogue is evaluated for one element at a time, at its logical indices: whatever it loads is there.
bool HipTarget::fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                              BufferId output) const {
  const Layout &layout = program.buffer(output).layout, &own = program.buffer(call.output).layout;
  const auto* spec = dynamic_cast<const HipKernelSpec*>(call.spec.get());
  // The output may have become part of another buffer.
  if (program.buffer(output).view && !call.spec->accepts_views()) return false;
  const bool fits = layout == own || (layout.is_row_major() && spec != nullptr && spec->writes_row_major());
  return fits && is_kernel_type(epilogue.value.dtype());
}

std::optional<KernelCall> HipTarget::attention(const Program& program, const KernelCall& scores,
                                               const KernelCall& weights, const KernelCall& product) const {
  return attention_call(program, scores, weights, product);
}

}  // namespace onnxc
