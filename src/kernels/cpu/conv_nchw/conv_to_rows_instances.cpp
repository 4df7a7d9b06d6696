// The parts of conv_to_rows.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_nchw/conv_to_rows.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

RowsGeometry to_rows_geometry_at_run_time(const RowsPacking& packing, const ConvSizes& sizes) {
  return to_rows_geometry(packing, sizes, lanes);
}

template void transpose_row<float>(const float*, int64_t, int64_t, int64_t, int64_t, float*, int64_t);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
