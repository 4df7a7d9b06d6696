// Convolutions by products of a warp (mma.sync, on RDNA WMMA), on Hopper of four (wgmma), with every tile.
#include <span>

#include "convolution_on_host.h"

namespace onnxc::kernels {

inline constexpr bool is_hopper = own_gpu.matrix_unit == machine::MatrixUnit::wgmma,
                      is_rdna = machine::multiplies_by_wmma(own_gpu);

struct Row {
  int products, rows, columns, shape, parts;
  void (*run)(const float* input, const float* weights, float* output, const ConvSizes& sizes);
};
// Taps of a pair of blocks, and of blocks one by one (an odd number); a last pair of one block.
inline constexpr ConvShape shapes[] = {{64, 40, 1, {2, 3, 3}}, {48, 150, 1, {1, 2, 3}, {1, 2, 1}}, {112, 270, 1, {1, 1, 3}, {1, 1, 1}, {1, 1, 2}}};

template <Products products, int64_t rows, int64_t columns, int shape, bool is_split = false>
constexpr Row row() {
  constexpr GemmPlan plan{.shape = shapes[shape], .products = products, .tile = {rows, columns}, .is_split = is_split};
  static_assert(plan.uses_wgmma(own_gpu) == is_hopper);
  return {static_cast<int>(products), rows, columns, shape, is_split,
          &convolve<plan, typename Element<products>::Type>};
}
template <Products products>
constexpr Row rows_of[] = {row<products, 256, 64, 0>(), row<products, 128, 128, 1>(), row<products, 64, 256, 2>(),
                           row<products, 128, 64, 2>(), row<products, 64, 64, 1>(),   row<products, 128, 32, 0>(), row<products, 256, 32, 0>(),
                           row<products, 64, 64, 0, true>()};

// 1 if there is such a row.
extern "C" int convolution(int products, int rows, int columns, int shape, int parts, const float* input,
                           const float* weights, float* output, const int64_t* sizes) {
  const ConvSizes all = {1, {sizes[0], sizes[1], sizes[2]}, {sizes[3], sizes[4], sizes[5]}, {sizes[6], sizes[7], sizes[8]}};
  using enum Products;
  for (const std::span<const Row> table : {std::span(rows_of<float16>), std::span(rows_of<is_rdna ? bfloat16 : xf32>), std::span(rows_of<is_hopper ? bfloat16 : float32>), std::span(rows_of<is_hopper ? bfloat16 : bf16x3>)})
    for (const Row& row : table)
      if (row.products == products && row.rows == rows && row.columns == columns && row.shape == shape && row.parts == parts) {
        row.run(input, weights, output, all);
        return 1;
      }
  return 0;
}

}  // namespace onnxc::kernels
