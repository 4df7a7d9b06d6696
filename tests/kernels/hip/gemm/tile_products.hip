// Convolutions by products of a warp (mma.sync, on RDNA WMMA), on Hopper of four (wgmma), with every tile: tensors come and
// go as floats in plain layout.
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "block.h"
#include "kernels/hip/gemm/implicit_gemm.h"

namespace onnxc::kernels {

inline constexpr bool is_hopper = own_gpu.matrix_unit == machine::MatrixUnit::wgmma,
                      is_rdna = machine::multiplies_by_wmma(own_gpu);

struct Sum {
  template <class... Place>
  float operator()(float sum, Place...) const { return sum; }
};

constexpr int64_t offset_in_blocks(const Axes& extents, int64_t channel, int64_t voxel) {
  return (channel / block_channels * extents.product() + voxel) * block_channels + channel % block_channels;
}
GemmView view_of(const Axes& extents, int64_t channels) {
  const int64_t w = block_channels, h = w * extents.w, d = h * extents.h, block = d * extents.d;
  return {block * divide_up(channels, block_channels), 0, block, d, h, w};
}

template <class T>
T cut(float value) {
  return static_cast<T>(value);
}

// The type of packed weights, of tensors T.
template <GemmPlan plan, class T>
using WeightOf = std::conditional_t<plan.products == Products::bf16x3, bfloat16_t, T>;

template <GemmPlan plan, class T>
std::vector<T> packed_weights(const float* weights) {
  std::vector<T> packed(static_cast<size_t>(plan.packed_count()), cut<T>(0.0f));
  for (int64_t step = 0; step < plan.steps(); ++step)
    for (int64_t column = 0; column < plan.shape.output_channels; ++column)
      for (int32_t k = 0; k < plan.depth(); ++k) {
        const GemmPlan::Place at = plan.place(static_cast<int32_t>(step), k);
        if (!plan.is_inside(at)) continue;
        const float weight = weights[(column * plan.shape.input_channels + at.channel) * plan.taps() + at.tap];
        const auto place = static_cast<size_t>(plan.weight_offset(0, step, column) + k);
        if constexpr (plan.products == Products::bf16x3) {
          // As split() has them: all high parts before all low ones.
          const float high = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, weight) & 0xffff0000u);
          packed[place] = cut<T>(high);
          packed[place + 16] = cut<T>(weight - high);
        } else {
          packed[place] = cut<T>(weight);
        }
      }
  return packed;
}

// Memory that begins at a multiple of 16 bytes; NaN at first.
template <class T>
struct Tensor {
  explicit Tensor(int64_t count) : count_(static_cast<size_t>(count)), memory_(count_ * sizeof(T) / 16 + 2) {
    std::memset(memory_.data(), 0xff, memory_.size() * 16);
  }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }

 private:
  struct alignas(16) Chunk16 { char bytes[16]; };
  size_t count_;
  std::vector<Chunk16> memory_;
};

template <class Function>
void run(int64_t blocks, int64_t launch_bytes, Function function) {
  host_blocks::ask_for_memory(static_cast<uint32_t>(launch_bytes));
  host_blocks::run_blocks(static_cast<uint32_t>(blocks), nest_threads,
                          {[](void* of) { (*static_cast<Function*>(of))(); }, &function});
}

// input [channels, d, h, w], weights [columns, channels, taps], output [columns, d, h, w].
template <GemmPlan plan, class T>
void convolve(const float* input, const float* weights, float* output, const ConvSizes& sizes) {
  static_assert(plan.uses_wgmma(own_gpu) == is_hopper);
  using Weight = WeightOf<plan, T>;
  const int64_t channels = plan.shape.input_channels, columns = plan.shape.output_channels,
                voxels = sizes.input.product(), results = sizes.output.product();
  Tensor<T> in(round_up(channels, block_channels) * voxels), out(round_up(columns, block_channels) * results);
  for (int64_t channel = 0; channel < round_up(channels, block_channels); ++channel)
    for (int64_t voxel = 0; voxel < voxels; ++voxel)
      in.data()[offset_in_blocks(sizes.input, channel, voxel)] =
          cut<T>(channel < channels ? input[channel * voxels + voxel] : 0.0f);
  const std::vector<Weight> packed = packed_weights<plan, Weight>(weights);
  Tensor<Weight> factors(plan.packed_count());
  std::memcpy(factors.data(), packed.data(), packed.size() * sizeof(Weight));
  Tensor<float> workspace(plan.most_workspace_count(own_gpu) + 4);
  const GemmArguments<T, Weight, T> arguments = {in.data(),
                                                 factors.data(),
                                                 out.data(),
                                                 sizes,
                                                 view_of(sizes.input, channels),
                                                 view_of(sizes.output, columns),
                                                 {},
                                                 factors.data() + plan.weight_count(),
                                                 workspace.data(),
                                                 plan.launch(sizes, own_gpu),
                                                 0};
  run(plan.blocks(sizes, own_gpu), plan.launch_lds_bytes(own_gpu), [&] { implicit_gemm<plan>(arguments, Sum{}); });
  if constexpr (plan.is_split)
    run(plan.combining_blocks(sizes, own_gpu), 0, [&] { combine_parts<plan>(arguments, Sum{}); });
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t voxel = 0; voxel < results; ++voxel)
      output[column * results + voxel] =
          static_cast<float>(out.data()[offset_in_blocks(sizes.output, column, voxel)]);
}

template <Products products>
struct Element {
  using Type = float;
};
template <>
struct Element<Products::float16> {
  using Type = _Float16;
};
template <>
struct Element<Products::bfloat16> {
  using Type = bfloat16_t;
};

struct Row {
  int products, rows, columns, shape, parts;
  void (*run)(const float* input, const float* weights, float* output, const ConvSizes& sizes);
};
// Taps of a pair of blocks, and of blocks one by one (an odd number); a last pair of one block.
inline constexpr ConvShape shapes[] = {{64, 40, 1, {2, 3, 3}}, {48, 150, 1, {1, 2, 3}, {1, 2, 1}}, {112, 270, 1, {1, 1, 3}, {1, 1, 1}, {1, 1, 2}}};

template <Products products, int64_t rows, int64_t columns, int shape, bool is_split = false>
constexpr Row row() {
  constexpr GemmPlan plan{.shape = shapes[shape], .products = products, .tile = {rows, columns}, .is_split = is_split};
  return {static_cast<int>(products), rows, columns, shape, is_split,
          &convolve<plan, typename Element<products>::Type>};
}
template <Products products>
constexpr Row rows_of[] = {row<products, 256, 64, 0>(), row<products, 128, 128, 1>(), row<products, 64, 256, 2>(),
                           row<products, 128, 64, 2>(), row<products, 64, 64, 1>(),   row<products, 128, 32, 0>(),
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
