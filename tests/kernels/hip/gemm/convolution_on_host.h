// Convolutions by the implicit GEMM on the host: tensors come and go as floats in plain layout.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "block.h"
#include "kernels/hip/gemm/implicit_gemm.h"

namespace onnxc::kernels {

struct Sum {
  template <class... Place>
  float operator()(float sum, Place...) const {
    return sum;
  }
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
  struct alignas(16) Chunk16 {
    char bytes[16];
  };
  size_t count_;
  std::vector<Chunk16> memory_;
};

template <class Function>
void run(int64_t blocks, int64_t launch_bytes, Function function) {
  host_blocks::ask_for_memory(static_cast<uint32_t>(launch_bytes));
  host_blocks::run_blocks(static_cast<uint32_t>(blocks), nest_threads,
                          {[](void* of) { (*static_cast<Function*>(of))(); }, &function});
}

// input [channels, d, h, w], weights [columns, channels, taps], output [columns, d, h, w]. launch(arguments) runs the
// kernels.
template <GemmPlan plan, class T, class Launch>
void convolve_by(const float* input, const float* weights, float* output, const ConvSizes& sizes, Launch launch) {
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
  launch(arguments);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t voxel = 0; voxel < results; ++voxel)
      output[column * results + voxel] = static_cast<float>(out.data()[offset_in_blocks(sizes.output, column, voxel)]);
}

template <GemmPlan plan, class T>
void convolve(const float* input, const float* weights, float* output, const ConvSizes& sizes) {
  convolve_by<plan, T>(input, weights, output, sizes, [&](const auto& arguments) {
    run(plan.blocks(sizes, own_gpu), plan.launch_lds_bytes(own_gpu), [&] { implicit_gemm<plan>(arguments, Sum{}); });
    if constexpr (plan.is_split)
      run(plan.combining_blocks(sizes, own_gpu), 0, [&] { combine_parts<plan>(arguments, Sum{}); });
  });
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

}  // namespace onnxc::kernels
