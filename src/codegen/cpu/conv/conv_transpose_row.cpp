// Transposed convolutions: NCHWc to NCHWc, by conv_transpose.h, or with few output channels by conv_transpose_packed.h.
// If both support a node the packed one has fewer products, so only that is offered.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packing.h"

namespace onnxc {
namespace {

// Fraction of the peak that the multiply-adds reach: that of conv_direct.h, which computes the residues. In groups, of
// one block of outputs and of more: measured on Zen 5, with 1 to 8 taps a residue.
constexpr double share = 0.72, share_of_one_block = 0.4, share_of_blocks = 0.6;

double share_of(const kernels::ConvShape& shape, const machine::VectorUnit& vectors) {
  if (shape.groups == 1) return share;
  return shape.group_output_channels() <= vectors.lanes ? share_of_one_block : share_of_blocks;
}

bool supports(const CpuProblem& problem) {
  return problem.convolution && problem.convolution->is_transposed() &&
         kernels::transposed_supports(problem.convolution->shape());
}

// `products`: vectors multiplied for each input channel, for as many outputs as the stride has residues.
double cost_of(const ConvolutionProblem& problem, const CpuMachine& machine, int64_t products) {
  const kernels::ConvShape& shape = problem.shape();
  return as_real(problem.output.product()) / as_real(shape.stride.product()) *
         as_real(shape.group_input_channels() * products) / share_of(shape, machine.vectors);
}

}  // namespace

void offer_conv_transpose(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!supports(problem)) return;
  const kernels::ConvShape& shape = problem.convolution->shape();
  if (kernels::packs_transposed(shape, machine.lanes())) return;
  offers.push_back(
      {.kernel = "conv_transpose",
       .reads = LayoutDemand::blocks,
       .gives = LayoutDemand::blocks,
       .cost = cost_of(*problem.convolution, machine, shape.kernel.product() * output_vectors(shape, machine.vectors)),
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
         const KernelConvolution& convolution = problem.convolution->convolution;
         lower_convolution(
             *problem.node, convolution, {"kernels/cpu/conv_transpose/conv_transpose.h", "TransposedConvolution"},
             vectors, blocked_input(*problem.node, vectors),
             as_tensor(pack_transposed_weights(convolution.shape, vectors.lanes, weights_of(*problem.node))), context);
       }});
}

void offer_conv_transpose_packed(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!supports(problem)) return;
  if (!kernels::packs_transposed(problem.convolution->shape(), machine.lanes())) return;
  const kernels::PackedTransposedPacking packing{problem.convolution->shape(), machine.lanes()};
  offers.push_back(
      {.kernel = "conv_transpose_packed",
       .reads = LayoutDemand::blocks,
       .gives = LayoutDemand::blocks,
       .cost = cost_of(*problem.convolution, machine, packing.taps().product() * packing.vectors()),
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
         const KernelConvolution& convolution = problem.convolution->convolution;
         lower_convolution(
             *problem.node, convolution,
             {"kernels/cpu/conv_transpose/conv_transpose_packed.h", "PackedTransposedConvolution"}, vectors,
             blocked_input(*problem.node, vectors),
             as_tensor(pack_packed_transposed_weights(convolution.shape, vectors.lanes, weights_of(*problem.node))),
             context);
       }});
}

}  // namespace onnxc
