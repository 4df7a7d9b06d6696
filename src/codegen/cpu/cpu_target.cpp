#include "codegen/cpu/cpu_target.h"

#include <algorithm>
#include <span>

#include "codegen/cpu/call/epilogue_printer.h"
#include "codegen/cpu/call/kernel_spec.h"
#include "codegen/cpu/conv/conv_kernel.h"
#include "codegen/cpu/conv/conv_transpose_kernel.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "codegen/cpu/conv/depthwise_kernel.h"
#include "codegen/cpu/matmul/attention_kernel.h"
#include "codegen/cpu/matmul/matmul_kernel.h"
#include "codegen/cpu/memory_bound/channel_shift.h"
#include "codegen/cpu/memory_bound/layout_copy.h"
#include "codegen/cpu/memory_bound/normalization_kernel.h"
#include "codegen/cpu/memory_bound/pooling_kernel.h"
#include "codegen/cpu/memory_bound/softmax_kernel.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// A kind of node that has a kernel. The first family that supports a node writes its call.
struct Family {
  bool (*takes)(const Node&, const CpuMachine& machine);
  void (*lower)(const Node&, const CpuMachine& machine, LoweringContext&);
  // Whether input 0 must be in NCHWc already: a reorder would cost what the kernel gains.
  bool needs_blocks = false;
  // Whether its output is in NCHWc; else it is row-major.
  bool gives_blocks = true;
};

constexpr Family families[] = {
    {takes_depthwise_convolution, lower_depthwise_convolution},
    {takes_convolution, lower_convolution},
    {takes_transposed_convolution, lower_transposed_convolution},
    {takes_pool, lower_pool, true},
    {takes_global_average_pool, lower_global_average_pool, true},
    {takes_normalization_of_few_channels, lower_normalization, false, false},
    {takes_normalization, lower_normalization, true},
    {takes_matmul, lower_matmul, false, false},
    {takes_softmax, lower_softmax, false, false},
};

const Family* find_family(const Node& node, const CpuMachine& machine) {
  const auto* found = std::ranges::find_if(families, [&](const Family& family) { return family.takes(node, machine); });
  return found == std::end(families) ? nullptr : found;
}

}  // namespace

bool CpuTarget::prefers_blocked(const Node& node) const {
  const Family* family = find_family(node, machine_);
  return family != nullptr && family->gives_blocks && !family->needs_blocks;
}

LayoutDemand CpuTarget::demand(const Node& node) const {
  const Family* family = find_family(node, machine_);
  if (family == nullptr || !family->gives_blocks) return LayoutDemand::none;
  return reads_planar(node) ? LayoutDemand::rows : LayoutDemand::blocks;
}

bool CpuTarget::can_give_rows(const Node& node) const { return can_give_planar(node, machine_); }

bool CpuTarget::lower(const Node& node, LoweringContext& context) const {
  const Family* family = find_family(node, machine_);
  if (family == nullptr) return false;
  if (family->needs_blocks) {
    const Buffer& input = context.program().buffer(context.buffer(*node.inputs[0]));
    if (input.layout != blocked_layout(input.shape.size())) return false;
  }
  family->lower(node, machine_, context);
  return true;
}

bool CpuTarget::fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& epilogue,
                              BufferId output) const {
  const auto* spec = dynamic_cast<const CpuKernelSpec*>(call.spec.get());
  internal_check(spec != nullptr, "a kernel of the CPU target");
  return onnxc::fits_epilogue(program, epilogue, output, spec->epilogue_form(), machine_.lanes());
}

std::optional<KernelCall> CpuTarget::attention(const Program& program, const KernelCall& scores,
                                               const KernelCall& weights, const KernelCall& product) const {
  return attention_call(program, scores, weights, product, machine_.lanes());
}

std::optional<KernelCall> CpuTarget::pooled_convolution(const Program&, const KernelCall& convolution,
                                                        const KernelCall& pool) const {
  return pooled_convolution_call(convolution, pool);
}

std::optional<KernelCall> CpuTarget::nest_kernel(const Program& program, const LoopNest& nest) const {
  std::optional<KernelCall> copy = as_layout_copy(program, nest, machine_.lanes());
  return copy ? copy : as_channel_shift(program, nest, machine_.lanes());
}

}  // namespace onnxc
