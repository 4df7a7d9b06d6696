// Convolutions of few channels on both sides (conv_planar.h): NCHW to NCHW.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_nchw/conv_planar_geometry.h"
#include "kernels/cpu/conv_nchw/conv_planar_packing.h"

namespace onnxc {
namespace {

// Fraction of the peak that the multiply-adds reach; in vector multiply-adds for each vector of the output.
constexpr double share = 0.5, output_cost = 12.0;

double cost_of(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const kernels::ConvShape& shape = problem.shape();
  const double products = as_real(shape.kernel.product() * shape.input_channels) / share;
  return row_vectors(problem, machine.vectors, problem.output.d * problem.output.h) * as_real(shape.output_channels) *
         (products + output_cost);
}

}  // namespace

void offer_conv_planar(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !is_stem(*problem.convolution)) return;
  if (!kernels::planar_supports(problem.convolution->shape()) || has_short_rows(*problem.convolution)) return;
  offers.push_back({.kernel = "conv_planar",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::rows,
                    .cost = cost_of(*problem.convolution, machine),
                    .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
                      const KernelConvolution& convolution = problem.convolution->convolution;
                      lower_convolution(*problem.node, convolution,
                                        {"kernels/cpu/conv_nchw/conv_planar.h", "PlanarConvolution",
                                         fmt::format(", {}", convolution.spec.axes.size()), EpilogueForm::rows},
                                        vectors, row_major_input(*problem.node),
                                        as_tensor(pack_planar_weights(convolution.shape, weights_of(*problem.node))),
                                        context);
                    }});
}

}  // namespace onnxc
