// Convolutions of few channels by Winograd along depth and height, a vector being neighbours along the width
// (conv_planar_winograd.h): NCHW to NCHW.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"

namespace onnxc {
namespace {

// In vector multiply-adds: for each vector of transformed input, for each vector of outputs, and for each register
// tile.
constexpr double input_cost = 5.0, output_cost = 20.0, tile_cost = 80.0;
// With 64 output channels the input transform is a small part of the time: NCHWc and the copy after it measured as fast
// or faster (0.8 to 1.1), although the costs say otherwise.
constexpr int64_t most_output_channels = 32;

double cost_of(const ConvolutionProblem& problem, const CpuMachine& machine) {
  const kernels::ConvShape& shape = problem.shape();
  const kernels::Axes& output = problem.output;
  const int lanes = machine.lanes();
  const kernels::StemWinogradPacking packing = kernels::planar_winograd_packing(shape, lanes);
  const kernels::PlanarWinogradTile tile = kernels::planar_winograd_tile(shape.output_channels, lanes);
  const kernels::StemWinogradAxis depth = packing.depth(), height = packing.height();
  const int64_t rows = depth.tiles(output.d) * height.tiles(output.h);
  const int64_t register_tiles =
      kernels::divide_up(kernels::divide_up(output.w, lanes), tile.vectors) * packing.chunks() * depth.points();
  const double channels = as_real(packing.output_blocks() * packing.lanes);
  const double terms = as_real(shape.input_channels * depth.terms() * height.terms());
  const double of_channel = as_real(packing.products()) / machine.convolution.planar_winograd_share +
                            as_real(depth.outputs() * height.outputs()) * output_cost;
  return row_vectors(problem, machine.vectors, rows) * (channels * of_channel + terms * input_cost) +
         as_real(rows * register_tiles) * tile_cost;
}

}  // namespace

void offer_conv_planar_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !is_stem(*problem.convolution)) return;
  const kernels::ConvShape& shape = problem.convolution->shape();
  if (!kernels::planar_winograd_supports(shape) || has_short_rows(*problem.convolution)) return;
  const bool has_few_channels = shape.output_channels <= most_output_channels;
  offers.push_back(
      {.kernel = "conv_planar_winograd",
       .reads = LayoutDemand::rows,
       .gives = LayoutDemand::rows,
       .cost = cost_of(*problem.convolution, machine),
       .declined = has_few_channels ? "" : fmt::format("more than {} output channels", most_output_channels),
       .lower = [problem, vectors = machine.vectors](LoweringContext& context) {
         const KernelConvolution& convolution = problem.convolution->convolution;
         const int64_t width = convolution.axes[2].output.constant().value_or(0);
         lower_convolution(
             *problem.node, convolution,
             {"kernels/cpu/conv_nchw/conv_planar_winograd.h", "PlanarWinogradConvolution",
              fmt::format(", {}, {}", convolution.spec.axes.size(), width), EpilogueForm::rows},
             vectors, row_major_input(*problem.node),
             as_tensor(pack_stem_winograd_weights(kernels::planar_winograd_packing(convolution.shape, vectors.lanes),
                                                  weights_of(*problem.node))),
             context);
       }});
}

}  // namespace onnxc
