// The parts of conv_depthwise.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv/conv_depthwise.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

DepthwiseGeometry depthwise_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes) {
  return depthwise_geometry(shape, lanes, sizes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
