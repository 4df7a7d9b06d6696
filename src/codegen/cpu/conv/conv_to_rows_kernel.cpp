#include "codegen/cpu/conv/conv_to_rows_kernel.h"

#include "codegen/cpu/conv/conv_choice.h"
#include "kernels/cpu/conv_nchw/conv_planar_packing.h"
#include "kernels/cpu/conv_nchw/conv_planar_winograd_geometry.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/conv_nchw/conv_to_rows_packing.h"

namespace onnxc {
namespace {

// A shorter row leaves too much of a vector empty.
constexpr int64_t narrowest_row = 8;

bool is_narrow(const KernelConvolution& convolution) {
  const std::optional<int64_t> width = convolution.axes[2].output.constant();
  return width && *width < narrowest_row;
}

kernels::RowsPacking rows_packing(const KernelConvolution& convolution) {
  return {convolution.shape, convolution.spec.transposed};
}

// Whether the input is NCHW too.
bool is_planar(const KernelConvolution& convolution) {
  return !convolution.spec.transposed && is_stem(convolution.shape);
}

// The kernel from NCHW to NCHW. Dynamic sizes count as large.
std::optional<ConvAlgorithm> planar_algorithm(const KernelConvolution& convolution, const CpuMachine& machine) {
  constexpr int64_t large = 64;
  const auto extent = [&](size_t axis) { return convolution.axes[axis].output.constant().value_or(large); };
  return choose_planar_convolution(convolution.shape, machine, {extent(0), extent(1), extent(2)});
}

void lower_planar_convolution(const Node& node, const KernelConvolution& convolution, const CpuMachine& machine,
                              LoweringContext& context) {
  const kernels::ConvShape& shape = convolution.shape;
  const bool is_winograd = planar_algorithm(convolution, machine) == ConvAlgorithm::planar_winograd;
  const size_t rank = node.inputs[0]->shape->size();
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  ConvolutionTemplate chosen{"conv_planar", "kernels/cpu/conv_nchw/conv_planar.h", "PlanarConvolution"};
  if (is_winograd)
    chosen = {"conv_planar_winograd", "kernels/cpu/conv_nchw/conv_planar_winograd.h", "PlanarWinogradConvolution"};
  chosen.arguments = fmt::format(", {}", rank - 2);
  if (is_winograd) chosen.arguments += fmt::format(", {}", convolution.axes[2].output.constant().value_or(0));
  chosen.form = EpilogueForm::rows;
  lower_convolution(node, convolution, std::move(chosen), machine.lanes(), Layout::row_major(rank),
                    is_winograd
                        ? pack_stem_winograd_weights(kernels::planar_winograd_packing(shape, machine.lanes()), weights)
                        : pack_planar_weights(shape, weights),
                    context);
}

void lower_convolution_to_rows(const Node& node, const KernelConvolution& convolution, const CpuMachine& machine,
                               LoweringContext& context) {
  if (is_planar(convolution)) return lower_planar_convolution(node, convolution, machine, context);
  const size_t rank = node.inputs[0]->shape->size();
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  const bool is_transposed = convolution.spec.transposed;
  lower_convolution(node, convolution,
                    {is_transposed ? "conv_transpose to rows" : "conv to rows", "kernels/cpu/conv_nchw/conv_to_rows.h",
                     "ConvolutionToRows", fmt::format(", {}, {}", is_transposed, rank - 2), EpilogueForm::rows, true},
                    machine.lanes(), Layout::channel_blocked(rank, machine.lanes()),
                    pack_to_rows_weights(rows_packing(convolution), weights), context);
}

}  // namespace

bool has_kernel_to_rows(const KernelConvolution& convolution, const CpuMachine& machine) {
  const bool is_supported = is_planar(convolution)
                                ? planar_algorithm(convolution, machine).has_value()
                                : kernels::to_rows_supports(rows_packing(convolution), machine.lanes());
  // One tap that moves no voxel sees an image as one row.
  return is_supported && (!is_narrow(convolution) || convolution.shape.kernel == kernels::Axes{1, 1, 1});
}

bool lower_where_rows_are_wanted(const Node& node, const KernelConvolution& convolution, const CpuMachine& machine,
                                 LoweringContext& context) {
  const Buffer& output = context.program().buffer(context.buffer(*node.outputs[0]));
  if (!output.layout.is_row_major() || !has_kernel_to_rows(convolution, machine)) return false;
  lower_convolution_to_rows(node, convolution, machine, context);
  return true;
}

}  // namespace onnxc
