// The parts of conv_direct.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv/conv_direct.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

DirectGeometry direct_geometry_at_run_time(const DirectPacking& packing, const ConvSizes& sizes) {
  return direct_geometry(packing, sizes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
