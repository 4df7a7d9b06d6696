#include "codegen/cpu/calls/conv_transpose_kernel.h"

#include "codegen/cpu/calls/convolution_call.h"
#include "codegen/cpu/calls/packing_transpose.h"

namespace onnxc {

bool takes_transposed_convolution(const Node& node, int lanes) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && convolution->spec.transposed && kernels::transposed_supports(convolution->shape, lanes);
}

void lower_transposed_convolution(const Node& node, int lanes, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  lower_convolution(node, convolution,
                    {"conv_transpose", "codegen/cpu/kernels/conv_transpose.h", "TransposedConvolution"}, lanes,
                    Layout::channel_blocked(node.inputs[0]->shape->size(), lanes),
                    pack_transposed_weights(convolution.shape, lanes, as_float(*node.inputs[1]->constant)), context);
}

}  // namespace onnxc
