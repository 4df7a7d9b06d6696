// The parts of conv_planar_winograd.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_nchw/conv_planar_winograd.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template vec planar_winograd_sum_directly<float>(const StemWinogradPacking&, const ConvSizes&, const BlockedView&,
                                                 const float*, const float*, int64_t, const Axes&);

PlanarWinogradGeometry planar_winograd_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes) {
  return planar_winograd_geometry(shape, sizes, lanes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
