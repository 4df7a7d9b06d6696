// Convolutions without a transform (conv_direct.h): NCHWc to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_direct_packing.h"

namespace onnxc {
namespace {

using PackWeights = Tensor (*)(const kernels::ConvShape& shape, const machine::VectorUnit& vectors,
                               std::span<const float> weights);

Tensor pack_floats(const kernels::ConvShape& shape, const machine::VectorUnit& vectors,
                   std::span<const float> weights) {
  return as_tensor(pack_direct_weights(shape, vectors.lanes, vectors.lanes, weights));
}

Tensor pack_pairs(const kernels::ConvShape& shape, const machine::VectorUnit& vectors, std::span<const float> weights) {
  return as_tensor(pack_direct_pairs(shape, vectors.lanes, weights), DType::bfloat16);
}

Offer offer_of(const CpuProblem& problem, const CpuMachine& machine, std::string kernel, double cost,
               const ConvolutionTemplate& chosen, PackWeights pack) {
  return {.kernel = std::move(kernel),
          .reads = LayoutDemand::blocks,
          .gives = LayoutDemand::blocks,
          .cost = cost,
          .lower = [problem, vectors = machine.vectors, chosen, pack](LoweringContext& context) {
            const KernelConvolution& convolution = problem.convolution->convolution;
            lower_convolution(*problem.node, convolution, chosen, vectors, blocked_input(*problem.node, vectors),
                              pack(convolution.shape, vectors, weights_of(*problem.node)), context);
          }};
}

}  // namespace

void offer_conv_direct(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !reads_blocks(*problem.convolution, machine)) return;
  const double cost = direct_cost(*problem.convolution, machine);
  ConvolutionTemplate chosen{"kernels/cpu/conv/conv_direct.h", "DirectConvolution", "", EpilogueForm::blocks, true};
  offers.push_back(offer_of(problem, machine, "conv_direct", cost, chosen, pack_floats));
  const double products = machine.convolution.bfloat16_products;
  const ConvolutionProblem& convolution = *problem.convolution;
  const bool has_pairs = convolution.convolution.has_constant_weights && convolution.input == DType::bfloat16 &&
                         kernels::has_whole_blocks(convolution.shape(), machine.lanes(), machine.lanes());
  if (!has_pairs || products == 0) return;
  chosen.arguments = ", false, true";
  chosen.arithmetic = "bfloat16";
  offers.push_back(offer_of(problem, machine, "conv_direct in pairs", cost / products, chosen, pack_pairs));
}

}  // namespace onnxc
