// The parts of kernels that no model changes. They stand in the runtime's archive, once for each instruction set
// (the namespace of kernels is named after it), where the kernels' headers declare them with `extern template`: a model
// of one convolution would else take half as long again to compile. Such a function must be noinline, or clang compiles
// it with each model all the same.
#include "codegen/cpu/kernels/conv_planar_winograd.h"
#include "codegen/cpu/kernels/conv_stem_winograd.h"
#include "codegen/cpu/kernels/conv_winograd.h"
#include "codegen/cpu/kernels/layout_copy.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template class LayoutCopy<float, float, false>;
template class LayoutCopy<float, float, true>;

template void winograd_multiply<winograd_rows(lanes), 1>(const float*, int64_t, const float*, const float*, int64_t,
                                                         float*);
template void winograd_multiply<winograd_rows(lanes), 2>(const float*, int64_t, const float*, const float*, int64_t,
                                                         float*);
template void winograd_multiply<winograd_short_rows(lanes), 1>(const float*, int64_t, const float*, const float*,
                                                               int64_t, float*);
template void winograd_multiply<winograd_short_rows(lanes), 2>(const float*, int64_t, const float*, const float*,
                                                               int64_t, float*);

WinogradGeometry winograd_geometry_at_run_time(const WinogradPacking& packing, const ConvSizes& sizes) {
  return winograd_geometry(packing, sizes);
}
StemWinogradGeometry stem_winograd_geometry_at_run_time(const StemWinogradPacking& packing, const ConvSizes& sizes) {
  return stem_winograd_geometry(packing, sizes);
}
PlanarWinogradGeometry planar_winograd_geometry_at_run_time(const ConvShape& shape, const ConvSizes& sizes) {
  return planar_winograd_geometry(shape, sizes, lanes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
