// The parts of conv_stem_band.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_nchw/conv_stem_band.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template void copy_stem_lines<float>(const ConvShape&, const ConvSizes&, const BlockedView&, const float*,
                                     const StemBandLines&);

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
