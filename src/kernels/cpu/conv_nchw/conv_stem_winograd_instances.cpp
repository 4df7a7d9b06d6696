// The parts of conv_stem_winograd.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_nchw/conv_stem_winograd.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template class StemWinogradRows<float>;

uint64_t stem_winograd_pieces_inside(const int64_t* taps, const int64_t* first, int64_t pieces, int64_t outputs,
                                     int64_t stride, int64_t tile, int64_t size) {
  uint64_t inside = 0;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t begin = tile + first[i];
    const int64_t before = begin < 0 ? divide_up(-begin, stride) : 0;  // inputs that lie before the first
    if (before < taps[i] + outputs - 1 && begin + before * stride < size) inside |= uint64_t{1} << i;
  }
  return inside;
}

StemWinogradGeometry stem_winograd_geometry_at_run_time(const StemWinogradPacking& packing, const ConvSizes& sizes) {
  return stem_winograd_geometry(packing, sizes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
