#include "codegen/cpu/conv/depthwise_kernel.h"

#include "codegen/cpu/conv/convolution_call.h"
#include "kernels/cpu/conv/conv_depthwise_packing.h"

namespace onnxc {

bool takes_depthwise_convolution(const Node& node, const CpuMachine& machine) {
  std::optional<KernelConvolution> convolution = as_kernel_convolution(node);
  return convolution && !convolution->spec.transposed && convolution->shape.groups > 1 &&
         kernels::depthwise_supports(convolution->shape, machine.lanes());
}

void lower_depthwise_convolution(const Node& node, const CpuMachine& machine, LoweringContext& context) {
  const KernelConvolution convolution = *as_kernel_convolution(node);
  lower_convolution(node, convolution, {"conv_depthwise", "kernels/cpu/conv/conv_depthwise.h", "DepthwiseConvolution"},
                    machine.lanes(), Layout::channel_blocked(node.inputs[0]->shape->size(), machine.lanes()),
                    pack_depthwise_weights(convolution.shape, machine.lanes(), as_float(*node.inputs[1]->constant)),
                    context);
}

}  // namespace onnxc
