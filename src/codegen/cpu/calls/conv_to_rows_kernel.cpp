#include "codegen/cpu/calls/conv_to_rows_kernel.h"

#include "codegen/cpu/calls/conv_choice.h"
#include "codegen/cpu/calls/packing_planar.h"
#include "codegen/cpu/calls/packing_to_rows.h"

namespace onnxc {
namespace {

// Of a row shorter than this too much of a vector would be empty.
constexpr int64_t narrowest_row = 8;

bool is_narrow(const KernelConvolution& convolution) {
  const std::optional<int64_t> width = convolution.axes[2].output.constant();
  return width && *width < narrowest_row;
}

kernels::RowsPacking rows_packing(const KernelConvolution& convolution) {
  return {convolution.shape, convolution.spec.transposed};
}

// Whether the input is in rows too.
bool is_planar(const KernelConvolution& convolution) {
  return !convolution.spec.transposed && is_stem(convolution.shape);
}

void lower_convolution_to_rows(const Node& node, const KernelConvolution& convolution, int lanes,
                               LoweringContext& context) {
  const size_t rank = node.inputs[0]->shape->size();
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  if (is_planar(convolution))
    return lower_convolution(node, convolution,
                             {"conv_planar", "codegen/cpu/kernels/conv_planar.h", "PlanarConvolution",
                              fmt::format(", {}", rank - 2), EpilogueForm::rows},
                             lanes, Layout::row_major(rank), pack_planar_weights(convolution.shape, weights), context);
  const bool is_transposed = convolution.spec.transposed;
  lower_convolution(node, convolution,
                    {is_transposed ? "conv_transpose to rows" : "conv to rows", "codegen/cpu/kernels/conv_to_rows.h",
                     "ConvolutionToRows", fmt::format(", {}, {}", is_transposed, rank - 2), EpilogueForm::rows, true},
                    lanes, Layout::channel_blocked(rank, lanes),
                    pack_to_rows_weights(rows_packing(convolution), weights), context);
}

}  // namespace

bool has_kernel_to_rows(const KernelConvolution& convolution, int lanes) {
  const bool is_supported = is_planar(convolution) ? kernels::planar_supports(convolution.shape)
                                                   : kernels::to_rows_supports(rows_packing(convolution), lanes);
  // One tap that moves no voxel sees an image as one row.
  return is_supported && (!is_narrow(convolution) || convolution.shape.kernel == kernels::Axes{1, 1, 1});
}

bool lower_where_rows_are_wanted(const Node& node, const KernelConvolution& convolution, int lanes,
                                 LoweringContext& context) {
  const Buffer& output = context.program().buffer(context.buffer(*node.outputs[0]));
  if (!output.layout.is_row_major() || !has_kernel_to_rows(convolution, lanes)) return false;
  lower_convolution_to_rows(node, convolution, lanes, context);
  return true;
}

}  // namespace onnxc
