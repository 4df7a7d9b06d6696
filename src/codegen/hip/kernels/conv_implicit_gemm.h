// Convolution as an implicit matrix product on MFMA: sums in float32, activations stored as float, float16 or bfloat16.
//
// Problem: output[n, o, voxel] = sum over taps and input channels of input[n, c, voxel * stride + tap * dilation - pad]
// * weight[o, c, tap], for rank 1 to 3 (missing axes have extent 1), any stride, dilation, pads and groups of whole
// blocks of channels; sizes are known at run time only. Method: a block of 256 threads has a tile of voxels x channels,
// each of its four wavefronts a quarter of it in 32x32 accumulators. A step of the reduction is 16 channels at one tap:
// threads fetch it into registers, 4 channels of a voxel or of a row of weights a load, while the product of the step
// before runs out of LDS. What lies outside the input is zero and no memory of it is touched: padding is index
// arithmetic.
//
// In LDS a row is 16 channels and 4 words of padding, which lets the eight threads of each phase of a 16-byte read hit
// different banks. A lane reads 4 channels at once and feeds them to four MFMAs: half a wavefront has channels 0 to 3
// of a group of 8, the other half 4 to 7; the order of a sum is free as long as both operands share it.
//
// Limits: products in float32 (v_mfma_f32_32x32x2_f32), also of 16-bit types. Bound by: MFMA; a step of a 64x64 wave
// tile takes 2,048 cycles of MFMA and reads 8 KiB of LDS, a quarter of its bandwidth.
#pragma once

#include "codegen/hip/kernels/conv_geometry.h"
#include "codegen/hip/kernels/nest.h"

namespace onnxc::kernels::inline ONNXC_KERNELS_ISA {

typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

// Four elements next to each other, as floats; their address is aligned to their size.
template <class T>
__device__ inline float4 load4(const T* source) {
  struct alignas(4 * sizeof(T)) Four {
    T element[4];
  };
  const Four four = *reinterpret_cast<const Four*>(source);
  return {static_cast<float>(four.element[0]), static_cast<float>(four.element[1]), static_cast<float>(four.element[2]),
          static_cast<float>(four.element[3])};
}

// Where a voxel of the tile is in the output.
struct alignas(16) TileVoxel {
  int32_t d, h, w;
  int32_t is_inside;
};

// Loops over registers are unrolled: a register cannot be indexed by a variable without a detour.
template <ConvShape shape, ConvTile tile, class Input, class Output>
struct ImplicitGemm {
  static constexpr int wave_voxels = tile.voxels / 2, wave_channels = tile.channels / 2;
  static constexpr int voxel_tiles = wave_voxels / 32, channel_tiles = wave_channels / 32;
  static constexpr int rows_a_load = nest_threads / 4;  // a thread loads 4 of the 16 channels of a row
  static constexpr int voxel_loads = tile.voxels / rows_a_load, channel_loads = tile.channels / rows_a_load;
  static constexpr GemmPacking packing = {shape, tile};
  static constexpr int channel_tiles_a_group = divide_up(shape.group_output_channels(), tile.channels);

  struct Shared {
    float input[tile.voxels * lds_row];
    float weights[tile.channels * lds_row];
    TileVoxel voxels[tile.voxels];
  };

  const ConvArguments<Input, Output>& arguments;
  Shared& shared;
  int64_t image;
  int group;
  int64_t first_voxel;
  int first_channel;  // of the group

  // The rows of the input that this thread fetches: the voxel's first tap, and where that lies.
  int32_t row_d[voxel_loads], row_h[voxel_loads], row_w[voxel_loads];
  const Input* row[voxel_loads];
  float4 fetched_input[voxel_loads], fetched_weights[channel_loads];
  float16 sums[voxel_tiles][channel_tiles];

  __device__ ImplicitGemm(const ConvArguments<Input, Output>& arguments_, Shared& shared_)
      : arguments(arguments_), shared(shared_) {
    const Axes& output = arguments.sizes.output;
    int64_t block = block_index();
    first_channel = static_cast<int>(block % channel_tiles_a_group) * static_cast<int>(tile.channels);
    block /= channel_tiles_a_group;
    const int64_t voxel_tile_count = divide_up(output.product(), tile.voxels);
    first_voxel = block % voxel_tile_count * tile.voxels;
    block /= voxel_tile_count;
    group = static_cast<int>(block % shape.groups);
    image = block / shape.groups;
  }

  __device__ void locate_voxels() {
    const Axes& output = arguments.sizes.output;
    const int thread = thread_index();
    if (thread < tile.voxels) {
      const int64_t voxel = first_voxel + thread;
      const int64_t row_of_voxel = voxel / output.w;
      shared.voxels[thread] = {static_cast<int32_t>(row_of_voxel / output.h),
                               static_cast<int32_t>(row_of_voxel % output.h), static_cast<int32_t>(voxel % output.w),
                               voxel < output.product()};
    }
    barrier();
    const BlockedView& view = arguments.input_view;
    const Axes& pads = arguments.sizes.begin_pads;
    const int64_t first_block = group * shape.group_input_channels() / gemm_channels;
#pragma clang loop unroll(full)
    for (int i = 0; i < voxel_loads; ++i) {
      const TileVoxel voxel = shared.voxels[thread / 4 + i * rows_a_load];
      // A voxel outside of the output reads outside of the input at every tap.
      row_d[i] = voxel.is_inside ? static_cast<int32_t>(voxel.d * shape.stride.d - pads.d) : INT32_MIN / 2;
      row_h[i] = static_cast<int32_t>(voxel.h * shape.stride.h - pads.h);
      row_w[i] = static_cast<int32_t>(voxel.w * shape.stride.w - pads.w);
      row[i] = arguments.input + image * view.batch_stride + first_block * view.channel_block_stride +
               row_d[i] * view.d_stride + row_h[i] * view.h_stride + row_w[i] * gemm_channels + thread % 4 * 4;
    }
  }

  // One step of the reduction into registers.
  __device__ void fetch(int tap, int input_block) {
    const BlockedView& view = arguments.input_view;
    const Axes& input = arguments.sizes.input;
    const int d = tap / static_cast<int>(shape.kernel.h * shape.kernel.w) * static_cast<int>(shape.dilation.d);
    const int h =
        tap / static_cast<int>(shape.kernel.w) % static_cast<int>(shape.kernel.h) * static_cast<int>(shape.dilation.h);
    const int w = tap % static_cast<int>(shape.kernel.w) * static_cast<int>(shape.dilation.w);
    const int64_t step =
        input_block * view.channel_block_stride + d * view.d_stride + h * view.h_stride + w * gemm_channels;
#pragma clang loop unroll(full)
    for (int i = 0; i < voxel_loads; ++i) {
      const bool is_inside = static_cast<uint32_t>(row_d[i] + d) < static_cast<uint64_t>(input.d) &&
                             static_cast<uint32_t>(row_h[i] + h) < static_cast<uint64_t>(input.h) &&
                             static_cast<uint32_t>(row_w[i] + w) < static_cast<uint64_t>(input.w);
      fetched_input[i] = is_inside ? load4(row[i] + step) : float4(0.0f);
    }
    const float* weights = arguments.weights + packing.offset(group, tap, input_block, first_channel);
#pragma clang loop unroll(full)
    for (int i = 0; i < channel_loads; ++i)
      fetched_weights[i] = load4(weights + (thread_index() + i * nest_threads) * 4);
  }

  __device__ void store_to_lds() {
    const int offset = thread_index() / 4 * lds_row + thread_index() % 4 * 4;
#pragma clang loop unroll(full)
    for (int i = 0; i < voxel_loads; ++i)
      *reinterpret_cast<float4*>(shared.input + offset + i * rows_a_load * lds_row) = fetched_input[i];
#pragma clang loop unroll(full)
    for (int i = 0; i < channel_loads; ++i)
      *reinterpret_cast<float4*>(shared.weights + offset + i * rows_a_load * lds_row) = fetched_weights[i];
  }

  __device__ void multiply() {
    const int lane = thread_index() % 64, wave = thread_index() / 64;
    const float* input = shared.input + (wave / 2 * wave_voxels + lane % 32) * lds_row + lane / 32 * 4;
    const float* weights = shared.weights + (wave % 2 * wave_channels + lane % 32) * lds_row + lane / 32 * 4;
    for (int half = 0; half < 2; ++half) {
      float4 a[voxel_tiles], b[channel_tiles];
#pragma clang loop unroll(full)
      for (int i = 0; i < voxel_tiles; ++i)
        a[i] = *reinterpret_cast<const float4*>(input + i * 32 * lds_row + half * 8);
#pragma clang loop unroll(full)
      for (int j = 0; j < channel_tiles; ++j)
        b[j] = *reinterpret_cast<const float4*>(weights + j * 32 * lds_row + half * 8);
#pragma clang loop unroll(full)
      for (int k = 0; k < 4; ++k)
#pragma clang loop unroll(full)
        for (int i = 0; i < voxel_tiles; ++i)
#pragma clang loop unroll(full)
          for (int j = 0; j < channel_tiles; ++j)
            sums[i][j] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i][k], b[j][k], sums[i][j], 0, 0, 0);
    }
  }

  __device__ void reduce() {
    constexpr int taps = shape.kernel.product(), input_blocks = packing.input_blocks();
#pragma clang loop unroll(full)
    for (int i = 0; i < voxel_tiles; ++i)
#pragma clang loop unroll(full)
      for (int j = 0; j < channel_tiles; ++j) sums[i][j] = float16(0.0f);
    int tap = 0, input_block = 0;
    fetch(tap, input_block);
    while (true) {
      barrier();  // the product of the step before is done with LDS
      store_to_lds();
      barrier();
      if (++tap == taps) {
        tap = 0;
        ++input_block;
      }
      if (input_block == input_blocks) break;
      fetch(tap, input_block);
      multiply();
    }
    multiply();
  }

  template <class Epilogue>
  __device__ void store(const Epilogue& epilogue) {
    const int lane = thread_index() % 64, wave = thread_index() / 64;
    const BlockedView& view = arguments.output_view;
#pragma clang loop unroll(full)
    for (int j = 0; j < channel_tiles; ++j) {
      const int channel_of_group = first_channel + wave % 2 * wave_channels + j * 32 + lane % 32;
      const int64_t channel = group * shape.group_output_channels() + channel_of_group;
      // The padding of the last block is written too, with zeros.
      if (channel_of_group >= round_up(shape.group_output_channels(), gemm_channels)) continue;
      const bool is_padding = channel_of_group >= shape.group_output_channels();
      Output* plane = arguments.output + image * view.batch_stride +
                      channel / gemm_channels * view.channel_block_stride + channel % gemm_channels;
#pragma clang loop unroll(full)
      for (int i = 0; i < voxel_tiles; ++i)
#pragma clang loop unroll(full)
        for (int r = 0; r < 16; ++r) {
          // The rows of a 32x32 result that a lane holds (AMD's matrix calculator, v_mfma_f32_32x32x2_f32).
          const int row_of_tile = 8 * (r / 4) + 4 * (lane / 32) + r % 4;
          const TileVoxel voxel = shared.voxels[wave / 2 * wave_voxels + i * 32 + row_of_tile];
          if (!voxel.is_inside) continue;
          const int64_t offset = voxel.d * view.d_stride + voxel.h * view.h_stride + voxel.w * gemm_channels;
          plane[offset] = is_padding
                              ? static_cast<Output>(0.0f)
                              : static_cast<Output>(epilogue(sums[i][j][r], image, channel, voxel.d, voxel.h, voxel.w));
        }
    }
  }
};

template <ConvShape shape, ConvTile tile, class Input, class Output, class Epilogue>
__device__ inline void implicit_gemm(const ConvArguments<Input, Output>& arguments, const Epilogue& epilogue) {
  using Gemm = ImplicitGemm<shape, tile, Input, Output>;
  __shared__ typename Gemm::Shared shared;
  Gemm gemm(arguments, shared);
  gemm.locate_voxels();
  gemm.reduce();
  gemm.store(epilogue);
}

}  // namespace onnxc::kernels::inline ONNXC_KERNELS_ISA
