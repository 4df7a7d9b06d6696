// The statistics of a convolution's results, brick by brick (product_moments.h): of 48 columns a tile.
#include "convolution_on_host.h"
#include "kernels/hip/fused/product_moments.h"

namespace onnxc::kernels {

constexpr GemmPlan plan{.shape = {32, 96, 1, {1, 3, 3}}, .products = Products::float16, .tile = {256, 48}, .brick = {1, 32, 8}};

// partial [block of channels, brick, value, lane]
extern "C" void convolution(const float* input, const float* weights, float* output, float* partial, const int64_t* extents) {
  const Axes size{extents[0], extents[1], extents[2]};
  const ConvSizes sizes{1, size, size, {0, 1, 1}};
  convolve_by<plan, _Float16>(input, weights, output, sizes, [&](const auto& product) {
    ProductMomentsArguments<_Float16, _Float16, _Float16> arguments{.product = product, .lines = {}};
    arguments.lines.partial = partial;
    arguments.lines.lines.launch.parts = Divisor::of(plan.row_tiles(size).product());
    run(plan.blocks(sizes, own_gpu), plan.launch_lds_bytes(own_gpu), [&] { product_moments<plan>(arguments, Sum{}, Sum{}); });
  });
}

}  // namespace onnxc::kernels
