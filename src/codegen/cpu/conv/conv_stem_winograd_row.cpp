// Convolutions of few input channels by Winograd along depth and height (conv_stem_winograd.h): NCHW to NCHWc.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"

namespace onnxc {
namespace {

// Fraction of the peak that the multiply-adds reach.
constexpr double share = 0.8;
// In vector multiply-adds: for each vector of transformed input, for each vector of outputs, and for each register tile
// and point of the depth.
constexpr double input_cost = 4.0, output_cost = 4.0, tile_cost = 80.0;

double cost_of(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const kernels::ConvShape& shape = problem.shape();
  const kernels::Axes& output = problem.output;
  const int lanes = machine.lanes();
  const kernels::StemWinogradPacking packing{shape, lanes};
  const kernels::StemWinogradAxis depth = packing.depth(), height = packing.height();
  const double rows = as_real(depth.tiles(output.d) * height.tiles(output.h));
  const double blocks = as_real(packing.output_blocks());
  const double of_outputs = as_real(depth.outputs() * height.outputs()) * output_cost +
                            as_real(depth.points()) * tile_cost / as_real(kernels::stem_winograd_voxels(1, lanes));
  const double of_voxel = blocks * (as_real(packing.products()) / share + of_outputs);
  const double of_column = as_real(shape.input_channels * depth.terms() * height.terms()) * input_cost;
  const double columns = as_real(kernels::divide_up(output.w * shape.stride.w, lanes));
  const double weights = as_real(packing.plain_offset()) * 4 * machine.convolution.weight_byte;
  return rows * (as_real(output.w) * of_voxel + columns * of_column) + weights;
}

}  // namespace

void offer_conv_stem_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !is_stem(*problem.convolution)) return;
  const ConvolutionProblem& convolution = *problem.convolution;
  if (!kernels::stem_winograd_supports(convolution.shape())) return;
  const double cost = cost_of(convolution, machine), gain = required_gain(convolution, machine);
  const bool wins = cost < gain * stem_cost(convolution, machine);
  offers.push_back({.kernel = "conv_stem_winograd",
                    .reads = LayoutDemand::rows,
                    .gives = LayoutDemand::blocks,
                    .cost = cost,
                    .declined = wins ? "" : fmt::format("not below {} of conv_stem", gain),
                    .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
                      const kernels::StemWinogradPacking packing{problem.convolution->shape(), vectors.lanes};
                      lower_convolution(*problem.node, problem.convolution->convolution,
                                        {"kernels/cpu/conv_nchw/conv_stem_winograd.h",
                                         "StemWinogradConvolution",
                                         "",
                                         EpilogueForm::blocks,
                                         false,
                                         {packing.depth().outputs(), packing.height().outputs(), 0}},
                                        vectors, row_major_input(*problem.node),
                                        as_tensor(pack_stem_winograd_weights(packing, weights_of(*problem.node))),
                                        context);
                    }});
}

}  // namespace onnxc
