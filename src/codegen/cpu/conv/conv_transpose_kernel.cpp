#include "codegen/cpu/conv/conv_transpose_kernel.h"

#include "codegen/cpu/conv/conv_to_rows_kernel.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packing.h"

namespace onnxc {

bool takes_transposed_convolution(const Node& node, const CpuMachine& machine) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && convolution->spec.transposed &&
         kernels::transposed_supports(convolution->shape, machine.lanes());
}

void lower_transposed_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  if (lower_where_rows_are_wanted(node, convolution, machine, context)) return;
  const bool packs = kernels::packs_transposed(convolution.shape, machine.lanes());
  const std::vector<float> weights = as_float(*node.inputs[1]->constant);
  lower_convolution(
      node, convolution,
      packs ? ConvolutionTemplate{"conv_transpose_packed", "kernels/cpu/conv_transpose/conv_transpose_packed.h",
                                  "PackedTransposedConvolution"}
            : ConvolutionTemplate{"conv_transpose", "kernels/cpu/conv_transpose/conv_transpose.h",
                                  "TransposedConvolution"},
      machine.lanes(), Layout::channel_blocked(node.inputs[0]->shape->size(), machine.lanes()),
      packs ? pack_packed_transposed_weights(convolution.shape, machine.lanes(), weights)
            : pack_transposed_weights(convolution.shape, machine.lanes(), weights),
      context);
}

}  // namespace onnxc
