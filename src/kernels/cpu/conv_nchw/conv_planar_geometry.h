// The contract of the compiler, the weight packer and conv_planar.h.
#pragma once

#include "kernels/cpu/conv_nchw/conv_stem_geometry.h"

namespace onnxc::kernels {

// With so few channels on both sides a vector of channels would be mostly padding.
constexpr int64_t most_planar_channels = 4;

constexpr bool planar_supports(const ConvShape& shape) {
  return shape.groups == 1 && shape.stride.w == 1 && shape.input_channels <= most_planar_channels &&
         shape.output_channels <= most_planar_channels;
}

// Vectors of voxels in a register tile: as many as leave registers for as many loads and a broadcast, at most four.
constexpr int planar_vectors(int64_t output_channels, int target_lanes) {
  const int64_t registers = machine::vector_unit(target_lanes).registers - 1;
  return static_cast<int>(larger(1, smaller(4, (registers - 1) / (output_channels + 1))));
}

// Packed weights: [input channel][kd][kh][kw][output channel].
constexpr int64_t planar_weight_offset(const ConvShape& shape, int64_t output_channel, int64_t input_channel,
                                       int64_t tap) {
  return (input_channel * shape.kernel.product() + tap) * shape.output_channels + output_channel;
}

// Tasks and scratch are the stem's: a vector reads no further past a row's end than a register tile of the stem.
constexpr StemGeometry planar_geometry(const ConvShape& shape, const ConvSizes& sizes, int target_lanes) {
  return stem_geometry({shape, target_lanes, 1}, sizes);
}

}  // namespace onnxc::kernels
