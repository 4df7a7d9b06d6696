// Convolutions whose tiles are bricks of voxels (halo_gemm.h): the case that faults are put into.
#include "halo_cases.h"

namespace onnxc::kernels {

constexpr Row rows[] = {row<Products::float16, 3>(), row<Products::xf32, 3>(), row<Products::bf16x3, 3>()};

extern "C" int convolution(int products, int number, const float* input, const float* weights, float* output, const int64_t* sizes) {
  return run_row({rows}, products, number, input, weights, output, sizes);
}

}  // namespace onnxc::kernels
