// Convolutions by Winograd (conv_winograd.h): NCHWc to NCHWc. Each tile of outputs that the kernel has is weighed; of
// those that win clearly enough the cheapest is offered.
#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv_winograd/conv_winograd_geometry.h"
#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

// Fraction of the peak that the multiply-adds reach.
constexpr double share = 0.85;
// The transforms, in vector multiply-adds. input_cost: transforming one input vector to one (outer, row) point.
// output_cost: adding one product vector to one output of a tile. With strides an input vector serves fewer products
// and more of them come from memory: ConvolutionCosts::strided_input.
constexpr double input_cost = 7.0, output_cost = 7.0;
// A byte of weights that is read again from the second- or third-level cache (45 GB/s), in multiply-adds at the peak
// rate. A byte from memory: ConvolutionCosts::weight_byte.
constexpr double cached_byte_cost = 0.12;

// Tiles of 4x4 have a cheaper transform: the points +p and -p share terms, and with six points along two axes the rows
// are combined before the depth.
double transform_share(const kernels::WinogradPacking& packing) {
  return packing.form().axes_of_six_points() >= 2 ? 0.6 : 1.0;
}

// Outputs of one axis that the points of it reach, summed over the points.
int64_t reached_outputs(const kernels::WinogradAxis& axis) {
  int64_t count = 0;
  for (int64_t point = 0; point < axis.points(); ++point)
    for (int64_t i = 0; i < axis.outputs; ++i) count += axis.table()[point].output[i] != 0.0f ? 1 : 0;
  return count;
}

// Inputs of one axis that its points read, summed over the points.
int64_t read_inputs(const kernels::WinogradAxis& axis) {
  int64_t count = 0;
  for (int64_t point = 0; point < axis.points(); ++point) count += axis.table()[point].inputs;
  return count;
}

double cost_of(const ConvolutionProblem& problem, const kernels::WinogradPacking& packing, const CpuMachine& machine) {
  const ConvShape& shape = problem.shape();
  const Axes &kernel = shape.kernel, &stride = shape.stride, &output = problem.output;
  const Axes input{(output.d - 1) * stride.d + kernel.d, (output.h - 1) * stride.h + kernel.h,
                   (output.w - 1) * stride.w + kernel.w};
  const kernels::WinogradGeometry geometry = kernels::winograd_geometry(packing, {1, input, output, {0, 0, 0}});
  const kernels::WinogradForm form = packing.form();
  const int64_t inputs =
      read_inputs(form.outer) * read_inputs(form.row) * form.column.step() * packing.input_blocks() * geometry.splits;
  const int64_t outputs = reached_outputs(form.outer) * reached_outputs(form.row) * form.column.outputs;
  const int64_t products = form.points() * packing.depth() * packing.output_blocks();
  // A register tile is computed whole, and a residue class of a dilation may have fewer tiles than it holds.
  const int64_t tiles = geometry.tiles.product();
  const bool has_lattices = form.is_dilated() && tiles > 0;
  const double computed_for_each =
      has_lattices ? as_real(kernels::winograd_padded_tiles(tiles, machine.lanes())) / as_real(tiles) : 1.0;
  const double tile_cost =
      computed_for_each * as_real(products) / share +
      transform_share(packing) *
          (as_real(inputs) * (stride == Axes{1, 1, 1} ? input_cost : machine.convolution.strided_input) +
           as_real(outputs * packing.output_blocks()) * output_cost);
  const double byte_cost = machine.convolution.weight_byte + as_real(geometry.passes - 1) * cached_byte_cost;
  return as_real(geometry.lattices * tiles) * tile_cost + as_real(packing.size()) * 4 * byte_cost;
}

int64_t weight_bytes(const kernels::WinogradPacking& packing) {
  return packing.size() * static_cast<int64_t>(sizeof(float));
}

// The reason why a tile that the kernel has is not weighed; empty if it is.
std::string reason_against(const ConvolutionProblem& problem, const kernels::WinogradPacking& packing,
                           const CpuMachine& machine) {
  const kernels::WinogradForm form = packing.form();
  if (problem.has_whole_weights && form.axes_of_six_points() > 0) return "not exact on integers";
  const bool is_plane = form.outer.outputs == 1;
  if (!packing.has_two_fours() || is_plane) return {};
  return weight_bytes(packing) <= machine.convolution.most_weights_of_two_fours ? "" : "too many weights";
}

void lower(const CpuProblem& problem, const kernels::WinogradPacking& packing, const machine::VectorUnit& vectors,
           LoweringContext& context) {
  const Axes& tile = packing.tile;
  lower_convolution(*problem.node, problem.convolution->convolution,
                    {"kernels/cpu/conv_winograd/conv_winograd.h", "WinogradConvolution",
                     fmt::format(", Axes{{{}, {}, {}}}", tile.d, tile.h, tile.w), EpilogueForm::blocks, false,
                     // With dilations the voxels of a window are those of several tasks.
                     packing.form().is_dilated() ? Axes{1, 1, 1} : tile},
                    vectors, blocked_input(*problem.node, vectors),
                    as_tensor(pack_winograd_weights(packing, weights_of(*problem.node))), context);
}

}  // namespace

void offer_conv_winograd(const CpuProblem& problem, const CpuMachine& machine, Offers& offers) {
  if (!problem.convolution || !reads_blocks(*problem.convolution, machine)) return;
  const ConvolutionProblem& convolution = *problem.convolution;
  const double direct = direct_cost(convolution, machine);
  std::optional<size_t> best;
  double least = 0;
  for (const int64_t d : {1, 2, 4})
    for (const int64_t h : {1, 2, 4})
      for (const int64_t w : {1, 2, 4}) {
        const Axes tile{d, h, w};
        if (!kernels::winograd_supports(convolution.shape(), tile)) continue;
        const kernels::WinogradPacking packing{convolution.shape(), tile, machine.lanes()};
        Offer offer{.kernel = "conv_winograd " + winograd_name(tile, convolution.shape().kernel),
                    .reads = LayoutDemand::blocks,
                    .gives = LayoutDemand::blocks,
                    .cost = cost_of(convolution, packing, machine),
                    .declined = reason_against(convolution, packing, machine),
                    .lower = [problem, packing, vectors = machine.vectors](LoweringContext& context) {
                      lower(problem, packing, vectors, context);
                    }};
        const double gain = required_gain(convolution, machine, weight_bytes(packing));
        if (offer.declined.empty() && *offer.cost >= gain * direct)
          offer.declined = fmt::format("not below {} of conv_direct", gain);
        offers.push_back(std::move(offer));
        if (!offers.back().declined.empty()) continue;
        // A tile with more weights must save more than holding them is worth.
        const double with_weights =
            *offers.back().cost + machine.convolution.held_byte * as_real(weight_bytes(packing));
        if (best && with_weights >= least) {
          offers.back().declined = "another tile costs less with its weights";
          continue;
        }
        if (best) offers[*best].declined = "another tile costs less with its weights";
        best = offers.size() - 1;
        least = with_weights;
      }
}

}  // namespace onnxc
