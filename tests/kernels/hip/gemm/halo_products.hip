// Convolutions whose tiles are bricks of voxels (halo_gemm.h): all cases.
#include "halo_cases.h"

namespace onnxc::kernels {

template <Products products>
constexpr Row rows_of[] = {row<products, 0>(), row<products, 1>(), row<products, 2>(), row<products, 3>(), row<products, 4>(), row<products, 5>(), row<products, 6>(), row<products, 7>()};
constexpr Row rows_of_bfloat16[] = {row<Products::bfloat16, 0>(), row<Products::bfloat16, 5>()};

extern "C" int convolution(int products, int number, const float* input, const float* weights, float* output, const int64_t* sizes) {
  using enum Products;
  return run_row({rows_of<float16>, rows_of<xf32>, rows_of<bf16x3>, rows_of_bfloat16}, products, number, input, weights, output, sizes);
}

}  // namespace onnxc::kernels
