// The parts of conv_grouped.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_grouped/conv_grouped.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

GroupedGeometry grouped_geometry_at_run_time(const GroupedPacking& packing, bool is_transposed,
                                             const ConvSizes& sizes) {
  return grouped_geometry(packing, is_transposed, sizes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
