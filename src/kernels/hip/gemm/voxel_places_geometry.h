// The contract of the compiler, the host and the kernel that gives voxels of blocks their places. Pure functions.
#pragma once

#include "kernels/hip/gemm/gemm_geometry.h"

namespace onnxc::kernels {

// The kernel's template argument. A convolution to a few channels was computed with a block of voxels in each position,
// whose channels are [d, h, w of the block][output channel].
struct VoxelPlacesPlan {
  ConvShape shape;  // of the convolution
  Axes block;
  int64_t output_lanes = 1;  // 1: each channel has a stride of its own

  constexpr bool operator==(const VoxelPlacesPlan&) const = default;

  // A block of threads has some voxels of a channel of an image.
  constexpr int64_t blocks_a_channel(const ConvSizes& sizes) const {
    return divide_up(sizes.output.product(), nest_threads);
  }
  // Not possible if the sizes or the strides do not fit.
  template <class Arguments>
  constexpr int64_t blocks_of(const Arguments& arguments) const {
    const ConvSizes& sizes = arguments.sizes;
    const bool fits = GemmPlan::fits(sizes.input) && GemmPlan::fits(sizes.output) && arguments.input_view.fits() &&
                      arguments.blocks_view.fits() && arguments.output_view.fits();
    return fits ? sizes.batch * shape.output_channels * blocks_a_channel(sizes) : INT64_MAX;
  }
};

template <class Input, class Output>
struct VoxelPlacesArguments {
  const float* blocks;   // in blocks of channels
  const Input* input;    // of the convolution, in blocks of channels
  const float* weights;  // [output channel][tap][input channel]
  Output* output;
  ConvSizes sizes;  // of the convolution
  GemmView blocks_view, input_view, output_view;
  Divisor blocks_a_channel, width, height;
};

}  // namespace onnxc::kernels
