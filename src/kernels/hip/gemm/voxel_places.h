// The second kernel of a convolution in blocks of voxels (codegen/hip/gemm/voxel_blocks_row.cpp): each voxel's place,
// and the epilogue.
//
// Problem: output[n, o, voxel] = blocks[n, (voxel % block, o), voxel / block]. The product that made the blocks has
// zeros for the taps that a voxel does not have, and a zero times an infinity or a NaN is a NaN.
//
// Method: a thread an element. A NaN is summed again, over the taps that the voxel has, one product after the other.
//
// Bound by: memory. Many NaN take the time of a convolution without a matrix unit.
#pragma once

#include "kernels/hip/gemm/voxel_places_geometry.h"
#include "kernels/hip/wave/nest.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

template <VoxelPlacesPlan plan, class Input, class Output>
struct VoxelPlaces {
  // References: a copy would become a constant in GPU memory, which the compiler does not see through.
  static constexpr const ConvShape& shape = plan.shape;
  static constexpr const Axes& block = plan.block;
  static constexpr auto lanes = static_cast<int32_t>(block_channels),
                        channels = static_cast<int32_t>(shape.output_channels);

  const VoxelPlacesArguments<Input, Output>& arguments;
  int64_t image;
  int32_t channel, d, h, w;

  // A sum of products of 32 bits each.
  __device__ static int64_t offset_of(const GemmView& view, int64_t image, int32_t channel, int32_t lanes, int32_t d,
                                      int32_t h, int32_t w) {
    const auto product = [](int32_t position, int64_t stride) {
      return int64_t{position} * static_cast<int32_t>(stride);
    };
    return image * view.batch + channel / lanes * view.block + channel % lanes + product(d, view.d) +
           product(h, view.h) + product(w, view.w);
  }

  __device__ float of_blocks() const {
    constexpr auto block_d = static_cast<int32_t>(block.d), block_h = static_cast<int32_t>(block.h),
                   block_w = static_cast<int32_t>(block.w);
    const int32_t voxel = (d % block_d * block_h + h % block_h) * block_w + w % block_w;
    return arguments.blocks[offset_of(arguments.blocks_view, image, voxel * channels + channel, lanes, d / block_d,
                                      h / block_h, w / block_w)];
  }

  __device__ float summed() const {
    const Axes &size = arguments.sizes.input, &pads = arguments.sizes.begin_pads;
    constexpr auto inputs = static_cast<int32_t>(shape.input_channels), kernel_d = static_cast<int32_t>(shape.kernel.d),
                   kernel_h = static_cast<int32_t>(shape.kernel.h), kernel_w = static_cast<int32_t>(shape.kernel.w);
    const auto is_inside = [](int32_t position, int64_t extent) {
      return static_cast<uint32_t>(position) < static_cast<uint32_t>(extent);
    };
    const float* weights = arguments.weights + channel * (kernel_d * kernel_h * kernel_w) * inputs;
    float sum = 0.0f;
#pragma clang loop unroll(disable)
    for (int32_t tap = 0; tap < kernel_d * kernel_h * kernel_w; ++tap, weights += inputs) {
      const int32_t from_d = d + tap / (kernel_h * kernel_w) - static_cast<int32_t>(pads.d),
                    from_h = h + tap / kernel_w % kernel_h - static_cast<int32_t>(pads.h),
                    from_w = w + tap % kernel_w - static_cast<int32_t>(pads.w);
      if (!(is_inside(from_d, size.d) & is_inside(from_h, size.h) & is_inside(from_w, size.w))) continue;
#pragma clang loop unroll(disable)
      for (int32_t c = 0; c < inputs; ++c)
        sum += static_cast<float>(
                   arguments.input[offset_of(arguments.input_view, image, c, lanes, from_d, from_h, from_w)]) *
               weights[c];
    }
    return sum;
  }
};

template <VoxelPlacesPlan plan, class Input, class Output, class Epilogue>
__device__ inline void voxel_places(const VoxelPlacesArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using Places = VoxelPlaces<plan, Input, Output>;
  const auto which = static_cast<uint32_t>(block_index());
  const uint32_t plane = arguments.blocks_a_channel.quotient(which);
  const uint32_t voxel = arguments.blocks_a_channel.remainder(which) * static_cast<uint32_t>(nest_threads) +
                         static_cast<uint32_t>(thread_index());
  if (voxel >= arguments.sizes.output.product()) return;
  const uint32_t row = arguments.width.quotient(voxel);
  const Places place{arguments,
                     plane / static_cast<uint32_t>(Places::channels),
                     static_cast<int32_t>(plane % static_cast<uint32_t>(Places::channels)),
                     static_cast<int32_t>(arguments.height.quotient(row)),
                     static_cast<int32_t>(arguments.height.remainder(row)),
                     static_cast<int32_t>(arguments.width.remainder(voxel))};
  float value = place.of_blocks();
  if (value != value) value = place.summed();
  arguments.output[Places::offset_of(arguments.output_view, place.image, place.channel, plan.output_lanes, place.d,
                                     place.h, place.w)] =
      static_cast<Output>(epilogue(value, place.image, 0, place.channel, place.d, place.h, place.w));
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
