#include "passes/lowering/text_target.h"

#include "ir/program/text_kernel.h"

namespace onnxc {
namespace {

bool is(const KernelCall& call, std::string_view title) { return call.spec->describe().starts_with(title); }

// One kernel that reads the operands of the first, and others, and stores to the output of the last.
KernelCall joined(std::string title, const KernelCall& first, const KernelCall& last,
                  const std::vector<KernelOperand>& others = {}) {
  KernelCall call = last;
  KernelOperands operands = first.spec->operands();
  operands.inputs.insert(operands.inputs.end(), others.begin(), others.end());
  call.spec = std::make_shared<TextKernel>(std::move(title), std::move(operands));
  call.inputs = first.inputs;
  call.inner_epilogue = first.epilogue;
  return call;
}

using Chain = std::span<const KernelCall* const>;

std::optional<KernelCall> attention(const Program& /*program*/, Chain chain) {
  const KernelCall &scores = *chain[0], &weights = *chain[1], &product = *chain[2];
  if (!is(scores, "matmul") || !is(weights, "softmax") || !is(product, "matmul")) return std::nullopt;
  if (product.inputs.size() != 2 || product.inputs[0] != weights.output || product.inputs[1] == scores.output)
    return std::nullopt;
  KernelCall call = joined("attention", scores, product, {product.spec->operands().inputs[1]});
  call.inputs.push_back(product.inputs[1]);
  return call;
}

std::optional<KernelCall> pooled_convolution(const Program& /*program*/, Chain chain) {
  const KernelCall &convolution = *chain[0], &pool = *chain[1];
  if (!is(convolution, "conv") || !is(pool, "pool maximum")) return std::nullopt;
  return joined(convolution.spec->describe() + " maximum", convolution, pool);
}

bool fits_epilogue(const Program& program, const KernelCall& call, const Epilogue& /*epilogue*/, BufferId output) {
  const Buffer& buffer = program.buffer(output);
  return buffer.layout == program.buffer(call.output).layout && (!buffer.view || call.spec->accepts_views());
}

}  // namespace

Target text_target() {
  return {.name = "text",
          .machine = {},
          .block_channels = 4,
          .parallel_results = 4864,
          .offers = [](const Node&, const Graph&) { return Offers(); },
          .fits_epilogue = fits_epilogue,
          .fusions = {{.name = "pooled_convolution", .calls = 2, .fuse = pooled_convolution},
                      {.name = "attention", .calls = 3, .fuse = attention}},
          .nests = {}};
}

}  // namespace onnxc
