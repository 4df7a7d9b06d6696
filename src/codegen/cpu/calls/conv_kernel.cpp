#include "codegen/cpu/calls/conv_kernel.h"

#include "codegen/cpu/calls/conv_choice.h"
#include "codegen/cpu/calls/convolution_call.h"
#include "codegen/cpu/calls/packing.h"
#include "codegen/cpu/calls/packing_stem_winograd.h"
#include "codegen/cpu/calls/packing_winograd.h"
#include "codegen/usual_size.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

// "F(2,2)" for two axes of three taps: outputs of a tile along each.
std::string form_name(const kernels::Axes& kernel) {
  std::vector<int> tile;
  for (const int64_t taps : {kernel.d, kernel.h, kernel.w})
    if (taps == 3) tile.push_back(2);
  return fmt::format("F({})", fmt::join(tile, ","));
}

ConvolutionTemplate convolution_template(ConvAlgorithm algorithm, const kernels::ConvShape& shape) {
  switch (algorithm) {
    case ConvAlgorithm::direct:
      return {"conv_direct", "codegen/cpu/kernels/conv_direct.h", "DirectConvolution"};
    case ConvAlgorithm::stem:
      return {"conv_direct", "codegen/cpu/kernels/conv_stem.h", "StemConvolution"};
    case ConvAlgorithm::stem_winograd:
      return {"conv_stem_winograd", "codegen/cpu/kernels/conv_stem_winograd.h", "StemWinogradConvolution"};
    case ConvAlgorithm::winograd:
      return {"conv_winograd " + form_name(shape.kernel), "codegen/cpu/kernels/conv_winograd.h", "WinogradConvolution"};
  }
  internal_error("a convolution algorithm");
}

std::vector<float> pack_weights(ConvAlgorithm algorithm, const kernels::ConvShape& shape, int lanes,
                                const std::vector<float>& weights) {
  if (algorithm == ConvAlgorithm::winograd) return pack_winograd_weights({shape, lanes}, weights);
  if (algorithm == ConvAlgorithm::stem_winograd) return pack_stem_winograd_weights({shape, lanes}, weights);
  return pack_direct_weights(shape, lanes, algorithm == ConvAlgorithm::stem ? 1 : lanes, weights);
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

bool takes_convolution(const Node& node, int lanes) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && !convolution->spec.transposed && kernels::direct_supports(convolution->shape, lanes, lanes);
}

void lower_convolution(const Node& node, int lanes, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  const kernels::ConvShape& shape = convolution.shape;
  const ConvAlgorithm algorithm = choose_convolution(shape, lanes, output_of(convolution, context.program()));
  const size_t rank = node.inputs[0]->shape->size();
  const bool is_planar = algorithm == ConvAlgorithm::stem || algorithm == ConvAlgorithm::stem_winograd;
  lower_convolution(node, convolution, convolution_template(algorithm, shape), lanes,
                    is_planar ? Layout::row_major(rank) : Layout::channel_blocked(rank, lanes),
                    pack_weights(algorithm, shape, lanes, as_float(*node.inputs[1]->constant)), context);
}

}  // namespace onnxc
