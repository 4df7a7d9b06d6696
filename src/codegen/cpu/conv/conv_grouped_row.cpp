// Convolutions and transposed convolutions in groups of few outputs (conv_grouped.h): NCHWc to NCHWc. Groups that the
// depthwise kernel takes are left to it.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_depthwise_geometry.h"
#include "kernels/cpu/conv_grouped/conv_grouped_packing.h"

namespace onnxc {
namespace {

using kernels::ConvShape;

// Fraction of the peak that the multiply-adds reach. In vector multiply-adds, the costs for a column that one
// permutation gathers, for each further block that it is gathered from, with masks and without, and for each block that
// a loop goes over. Then for each vector of the output. Measured on Zen 5.
constexpr double share = 0.95, column_cost = 0.85, masked_block_cost = 0.6, blended_block_cost = 1.1;
constexpr double looped_block_cost = 5.0, output_cost = 6.0;
// Columns for each output, with three taps: a tile of 16 reads 18, one of 4 reads 6.
constexpr double columns_of_output = 1.125, columns_with_few_registers = 1.5;

double gather_cost(const kernels::GroupedPacking& packing, const CpuMachine& machine) {
  const ConvShape& shape = packing.shape;
  const bool is_depthwise = packing.inputs() == 1 && shape.group_output_channels() == 1;
  if (is_depthwise || shape.group_output_channels() % packing.lanes == 0) return 0.0;
  const double further = as_real(packing.most_sources() - 1);
  if (!packing.has_few_sources()) return column_cost + further * looped_block_cost;
  return column_cost + further * (machine.vectors.has_many_registers() ? masked_block_cost : blended_block_cost);
}

double cost_of(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const ConvShape& shape = problem.shape();
  const kernels::GroupedPacking packing{shape, machine.lanes()};
  // An output of a transposed convolution reads one in so many taps.
  const auto taps = [&](int64_t kernel, int64_t stride) {
    return problem.is_transposed() ? as_real(kernel) / as_real(stride) : as_real(kernel);
  };
  const double rows = taps(shape.kernel.d, shape.stride.d) * taps(shape.kernel.h, shape.stride.h);
  const double columns = (machine.vectors.has_many_registers() ? columns_of_output : columns_with_few_registers) *
                         as_real(problem.is_transposed() ? 1 : kernels::smaller(shape.stride.w, shape.kernel.w));
  const double row = taps(shape.kernel.w, shape.stride.w) / share + columns * gather_cost(packing, machine);
  // As the rivals do: conv_direct.h counts its weights, conv_transpose.h does not.
  const double weights = problem.is_transposed() ? 0.0 : as_real(packing.size()) * 4 * machine.convolution.weight_byte;
  return as_real(problem.output.product() * packing.blocks()) * (rows * as_real(packing.inputs()) * row + output_cost) +
         weights;
}

}  // namespace

void offer_conv_grouped(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !kernels::grouped_supports(problem.convolution->shape(), machine.lanes())) return;
  const ConvShape& shape = problem.convolution->shape();
  const bool is_transposed = problem.convolution->is_transposed();
  if (!is_transposed && kernels::depthwise_supports(shape, machine.lanes())) return;
  offers.push_back({.kernel = is_transposed ? "conv_grouped transposed" : "conv_grouped",
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = cost_of(*problem.convolution, machine),
                    .lower = [problem, is_transposed, vectors = machine.vectors](LoweringContext& context) {
                      const KernelConvolution& convolution = problem.convolution->convolution;
                      ConvolutionTemplate chosen{"kernels/cpu/conv_grouped/conv_grouped.h", "GroupedConvolution",
                                                 is_transposed ? ", true" : ", false"};
                      lower_convolution(*problem.node, convolution, std::move(chosen), vectors,
                                        blocked_input(*problem.node, vectors),
                                        as_tensor(pack_grouped_weights(convolution.shape, vectors.lanes, is_transposed,
                                                                       weights_of(*problem.node))),
                                        context);
                    }});
}

}  // namespace onnxc
