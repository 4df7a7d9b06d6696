// Convolutions of few input channels (conv_stem.h): NCHW to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_direct_packing.h"

namespace onnxc {

void offer_conv_stem(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !is_stem(*problem.convolution)) return;
  offers.push_back(
      {.kernel = "conv_stem",
       .reads = LayoutDemand::rows,
       .gives = LayoutDemand::blocks,
       .cost = stem_cost(*problem.convolution, machine),
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
         const KernelConvolution& convolution = problem.convolution->convolution;
         lower_convolution(
             *problem.node, convolution, {"kernels/cpu/conv_nchw/conv_stem.h", "StemConvolution"}, vectors,
             row_major_input(*problem.node),
             as_tensor(pack_direct_weights(convolution.shape, vectors.lanes, 1, weights_of(*problem.node))), context);
       }});
}

}  // namespace onnxc
