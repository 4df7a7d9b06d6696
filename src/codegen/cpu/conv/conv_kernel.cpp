#include "codegen/cpu/conv/conv_kernel.h"

#include <algorithm>
#include <cmath>

#include "codegen/call/usual_size.h"
#include "codegen/cpu/conv/conv_choice.h"
#include "codegen/cpu/conv/conv_to_rows_kernel.h"
#include "kernels/cpu/conv/conv_direct_packing.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// "F(2,4)" for two axes of three taps: outputs of a tile along each.
std::string form_name(const kernels::Axes& tile) {
  std::vector<int64_t> outputs;
  for (const int64_t extent : {tile.d, tile.h, tile.w})
    if (extent != 1) outputs.push_back(extent);
  return fmt::format("F({})", fmt::join(outputs, ","));
}

ConvolutionTemplate convolution_template(const ConvChoice& choice, const kernels::StemWinogradPacking& stem) {
  const kernels::Axes& tile = choice.tile;
  switch (choice.algorithm) {
    case ConvAlgorithm::direct:
      return {"conv_direct", "kernels/cpu/conv/conv_direct.h", "DirectConvolution", "", EpilogueForm::blocks, true};
    case ConvAlgorithm::stem:
      return {"conv_direct", "kernels/cpu/conv_nchw/conv_stem.h", "StemConvolution"};
    case ConvAlgorithm::stem_winograd:
      return {"conv_stem_winograd",
              "kernels/cpu/conv_nchw/conv_stem_winograd.h",
              "StemWinogradConvolution",
              "",
              EpilogueForm::blocks,
              false,
              {stem.depth().outputs(), stem.height().outputs(), 0}};
    case ConvAlgorithm::winograd:
      return {"conv_winograd " + form_name(tile), "kernels/cpu/conv_winograd/conv_winograd.h", "WinogradConvolution",
              fmt::format(", Axes{{{}, {}, {}}}", tile.d, tile.h, tile.w), EpilogueForm::blocks, false,
              // With dilations the voxels of a window are those of several tasks.
              kernels::winograd_form(stem.shape, tile).is_dilated() ? kernels::Axes{1, 1, 1} : tile};
    case ConvAlgorithm::planar:
    case ConvAlgorithm::planar_winograd:
      break;  // where rows are wanted
  }
  internal_error("a convolution algorithm");
}

std::vector<float> pack_weights(const ConvChoice& choice, const kernels::ConvShape& shape, int lanes,
                                const std::vector<float>& weights) {
  if (choice.algorithm == ConvAlgorithm::winograd) return pack_winograd_weights({shape, choice.tile, lanes}, weights);
  if (choice.algorithm == ConvAlgorithm::stem_winograd) return pack_stem_winograd_weights({shape, lanes}, weights);
  return pack_direct_weights(shape, lanes, choice.algorithm == ConvAlgorithm::stem ? 1 : lanes, weights);
}

ConvOutput output_of(const KernelConvolution& convolution, const Program& program) {
  std::array<int64_t, 3> size{};
  bool is_known = true;
  for (size_t i = 0; i < size.size(); ++i) {
    const Expr& extent = convolution.axes[i].output;
    is_known &= extent.constant().has_value();
    size[i] = usual_size(program, extent).value_or(0);
  }
  return {{size[0], size[1], size[2]}, is_known};
}

}  // namespace

bool takes_convolution(const Node& node, const CpuMachine& machine) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && !convolution->spec.transposed &&
         kernels::direct_supports(convolution->shape, machine.lanes(), machine.lanes());
}

bool reads_planar(const Node& node) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && !convolution->spec.transposed && is_stem(convolution->shape);
}

bool can_give_planar(const Node& node, const CpuMachine& machine) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && has_kernel_to_rows(*convolution, machine);
}

void lower_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  const kernels::ConvShape& shape = convolution.shape;
  if (lower_where_rows_are_wanted(node, convolution, machine, context)) return;
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  const bool are_whole = std::ranges::all_of(weights, [](float weight) { return weight == std::trunc(weight); });
  const ConvChoice choice = choose_convolution(shape, machine, output_of(convolution, context.program()),
                                               are_whole ? ConvWeights::whole : ConvWeights::real);
  const size_t rank = node.inputs[0]->shape->size();
  const bool is_planar = choice.algorithm == ConvAlgorithm::stem || choice.algorithm == ConvAlgorithm::stem_winograd;
  lower_convolution(node, convolution, convolution_template(choice, {shape, machine.lanes()}), machine.lanes(),
                    is_planar ? Layout::row_major(rank) : Layout::channel_blocked(rank, machine.lanes()),
                    pack_weights(choice, shape, machine.lanes(), weights), context);
}

}  // namespace onnxc
