// The parts of layout_copy.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/memory_bound/layout_copy.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template class LayoutCopy<float, float, false>;
template class LayoutCopy<float, float, true>;

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
