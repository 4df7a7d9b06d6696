// Depthwise convolutions, and groups of few channels (conv_depthwise.h): NCHWc to NCHWc. It has no rival.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_depthwise_packing.h"

namespace onnxc {

void offer_conv_depthwise(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || problem.convolution->is_transposed()) return;
  const kernels::ConvShape& shape = problem.convolution->shape();
  if (shape.groups == 1 || !kernels::depthwise_supports(shape, machine.lanes())) return;
  offers.push_back({.kernel = "conv_depthwise",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .lower = [problem, lanes = machine.lanes()](LoweringContext& context) {
                      const KernelConvolution& convolution = problem.convolution->convolution;
                      lower_convolution(
                          *problem.node, convolution,
                          {"conv_depthwise", "kernels/cpu/conv/conv_depthwise.h", "DepthwiseConvolution"}, lanes,
                          blocked_input(*problem.node, lanes),
                          as_tensor(pack_depthwise_weights(convolution.shape, lanes, weights_of(*problem.node))),
                          context);
                    }});
}

}  // namespace onnxc
