// Convolutions without a transform (conv_direct.h): NCHWc to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_direct_packing.h"

namespace onnxc {

void offer_conv_direct(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !reads_blocks(*problem.convolution, machine)) return;
  offers.push_back({.kernel = "conv_direct",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = direct_cost(*problem.convolution, machine),
                    .lower = [problem, lanes = machine.lanes()](LoweringContext& context) {
                      const KernelConvolution& convolution = problem.convolution->convolution;
                      lower_convolution(*problem.node, convolution,
                                        {"conv_direct", "kernels/cpu/conv/conv_direct.h", "DirectConvolution", "",
                                         EpilogueForm::blocks, true},
                                        lanes, blocked_input(*problem.node, lanes),
                                        pack_direct_weights(convolution.shape, lanes, lanes, weights_of(*problem.node)),
                                        context);
                    }});
}

}  // namespace onnxc
