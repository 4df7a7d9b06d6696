// A convolution as the compiler, its kernels on both targets and their callers see it: shape, sizes, views and
// arguments. Convolutions of rank 1 and 2 have leading axes of extent 1.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace onnxc::kernels {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }
constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// A triple over the spatial axes: depth, height, width.
struct Axes {
  int64_t d, h, w;
  constexpr int64_t product() const { return d * h * w; }
  constexpr bool operator==(const Axes&) const = default;
};

// The start of the row after that of `at`.
[[gnu::always_inline]] constexpr void next_row(const Axes& size, Axes& at) {
  at.w = 0;
  if (++at.h < size.h) return;
  at.h = 0;
  ++at.d;
}
// The position after `at`, in row-major order.
[[gnu::always_inline]] constexpr void advance(const Axes& size, Axes& at) {
  if (++at.w == size.w) next_row(size, at);
}
// Calls visit(at, count) for each row of a range of voxels in row-major order: `count` voxels from `at` on.
template <class Visitor>
[[gnu::always_inline]] inline void for_each_row(const Axes& size, int64_t first, int64_t voxels, const Visitor& visit) {
  Axes at{first / size.w / size.h, first / size.w % size.h, first % size.w};
  for (int64_t count; voxels > 0; voxels -= count, next_row(size, at)) {
    count = smaller(voxels, size.w - at.w);
    visit(at, count);
  }
}

// The static part of a convolution; a template argument of the kernels.
struct ConvShape {
  int64_t input_channels;
  int64_t output_channels;
  int64_t groups = 1;
  Axes kernel = {1, 1, 1};
  Axes stride = {1, 1, 1};
  Axes dilation = {1, 1, 1};

  constexpr int64_t group_input_channels() const { return input_channels / groups; }
  constexpr int64_t group_output_channels() const { return output_channels / groups; }
  constexpr bool operator==(const ConvShape&) const = default;
};

// The part that may be known only at run time. Begin pads may differ by axis and be negative (a crop); end pads follow
// from the output's size.
struct ConvSizes {
  int64_t batch;
  Axes input;
  Axes output;
  Axes begin_pads;
};

// Strides of an NCHWc tensor, in elements. One step along w is `w_step` blocks of `lanes` elements each (of 1 in NCHW).
// A part of a concatenation, a split or a slice is a view: the strides of the whole tensor and a pointer to its own
// first element.
struct BlockedView {
  int64_t batch_stride;
  int64_t channel_block_stride;
  int64_t d_stride;
  int64_t h_stride;
  int64_t w_step = 1;  // other than 1 only in outputs of conv_direct.h
};

constexpr BlockedView dense_view(int64_t channels, const Axes& size, int vector_lanes) {
  const int64_t row = size.w * vector_lanes;
  const int64_t block = size.product() * vector_lanes;
  return {divide_up(channels, vector_lanes) * block, block, size.h * row, row};
}

// The operands of a convolution kernel, by their storage types; the weights are in the kernel's own order.
template <class Input, class Output, class Weight = float>
struct ConvArguments {
  const Input* input;
  const Weight* weights;
  Output* output;
  ConvSizes sizes;
  BlockedView input_view;
  BlockedView output_view;
};

// Those of a convolution of bytes, whose padding is the input's zero point.
template <class Input, class Output, class Weight = uint8_t>
struct ByteConvArguments : ConvArguments<Input, Output, Weight> {
  Input zero_point;
};

}  // namespace onnxc::kernels
