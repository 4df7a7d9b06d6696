// Convolutions and transposed convolutions to few channels (conv_to_rows.h): NCHWc to NCHW. If Winograd saves most of
// the products, Winograd and a copy cost less: 3x3x3 from 32 to 4 channels 0.66 of the time with AVX2, from 64 to 4
// with AVX-512 the same.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_nchw/conv_to_rows_packing.h"

namespace onnxc {
namespace {

// Fraction of the peak that the multiply-adds reach with the transposition of the input: conv_to_rows.h.
constexpr double share = 0.41;

double cost_of(const ConvolutionProblem& problem, const kernels::RowsPacking& packing, const CpuMachine& machine) {
  const kernels::ConvShape& shape = problem.shape();
  // A residue modulo the stride takes only its own taps: all residues together take the kernel's, at as many positions.
  const double positions = as_real(problem.output.product()) / as_real(packing.residues().product());
  return positions / machine.lanes() * as_real(shape.kernel.product() * shape.input_channels * shape.output_channels) /
         share;
}

}  // namespace

void offer_conv_to_rows(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || is_stem(*problem.convolution) || has_short_rows(*problem.convolution)) return;
  const ConvolutionProblem& convolution = *problem.convolution;
  const kernels::RowsPacking packing{convolution.shape(), convolution.is_transposed()};
  if (!kernels::to_rows_supports(packing, machine.lanes())) return;
  offers.push_back({.kernel = convolution.is_transposed() ? "conv_transpose to rows" : "conv to rows",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::rows,
                    .cost = cost_of(convolution, packing, machine),
                    .lower = [problem, packing, vectors = machine.vectors](LoweringContext& context) {
                      const KernelConvolution& call = problem.convolution->convolution;
                      lower_convolution(*problem.node, call,
                                        {"kernels/cpu/conv_nchw/conv_to_rows.h", "ConvolutionToRows",
                                         fmt::format(", {}, {}", packing.is_transposed, call.spec.axes.size()),
                                         EpilogueForm::rows, true},
                                        vectors, blocked_input(*problem.node, vectors),
                                        as_tensor(pack_to_rows_weights(packing, weights_of(*problem.node))), context);
                    }});
}

}  // namespace onnxc
