// The parts of conv_transpose.h that no model changes, compiled with the runtime once for each instruction set:
// a model of one convolution would else take half as long again to compile. Such a function must be noinline, or clang
// compiles it with each model all the same.
#include "kernels/cpu/conv_transpose/conv_transpose.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

KernelWork transposed_work_at_run_time(const TransposedPacking& packing, const ConvSizes& sizes) {
  return transposed_work(packing, sizes);
}
TransposedPart transposed_part_at_run_time(const TransposedPacking& packing, int64_t index, const ConvSizes& sizes) {
  return transposed_part(packing, index, sizes);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
