#include "kernels/cpu/conv_int8/conv_depthwise_int8.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_int8/conv_depthwise_int8_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

constexpr ConvShape depthwise(int64_t channels, const Axes& kernel, const Axes& stride = {1, 1, 1},
                              const Axes& dilation = {1, 1, 1}) {
  return {channels, channels, channels, kernel, stride, dilation};
}

template <ConvShape shape, class Input>
void check(const ConvSizes& sizes, Input zero_point) {
  check_random_bytes<DepthwiseInt8Convolution<shape, Input, float, OfBytes>, shape>(
      sizes, zero_point,
      [](const std::vector<int8_t>& weights) { return pack_depthwise_int8_weights(shape, lanes, weights); });
}

template <ConvShape shape>
void check(int64_t batch, const Axes& size, const Axes& begin_pads, const Axes& end_pads) {
  const ConvSizes sizes = conv_sizes(shape, batch, size, begin_pads, end_pads);
  for (const int zero_point : {0, 3, 255}) check<shape, uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 127}) check<shape, int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(DepthwiseInt8Convolution), EveryWidthAroundTheTile) {
  for (int64_t width = 1; width <= 27; ++width) {
    check<depthwise(lanes, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
    check<depthwise(lanes + 1, {1, 1, 3}, {1, 1, 2})>(1, {1, 2, width + 1}, {0, 0, 1}, {0, 0, 0});
  }
}

// One tap of a row, as many as a quad has, and more.
TEST(ISA_SUITE(DepthwiseInt8Convolution), EveryEndOfARowAndWidthOfAKernel) {
  for (int64_t width = 5; width <= 23; ++width) {
    check<depthwise(lanes, {1, 1, 5})>(1, {1, 2, width}, {0, 0, 2}, {0, 0, 2});
    check<depthwise(lanes, {2, 1, 1})>(1, {3, 2, width}, {1, 0, 0}, {0, 0, 0});
    check<depthwise(lanes, {1, 2, 3})>(1, {1, 2, width}, {0, 1, 2}, {0, 0, 0});
    check<depthwise(lanes, {1, 2, 3})>(1, {1, 2, width}, {0, 0, 0}, {0, 1, 2});
    check<depthwise(lanes, {1, 1, 4}, {1, 1, 2})>(1, {1, 1, width}, {0, 0, 1}, {0, 0, 2});
    check<depthwise(lanes, {1, 1, 9})>(1, {1, 1, width}, {0, 0, 4}, {0, 0, 4});
  }
}

TEST(ISA_SUITE(DepthwiseInt8Convolution), OddChannelsStridesDilationsAndPads) {
  check<depthwise(lanes + 5, {3, 3, 3})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<depthwise(3, {3, 3, 3}, {1, 2, 2})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<depthwise(2 * lanes - 1, {3, 2, 5}, {2, 3, 2})>(1, {7, 11, 23}, {1, 0, 2}, {0, 1, 3});
  check<depthwise(lanes, {2, 3, 3}, {1, 1, 1}, {3, 2, 1})>(1, {6, 7, 21}, {2, 3, 4}, {1, 0, 5});
  check<depthwise(lanes, {1, 3, 1}, {1, 1, 2}, {1, 2, 7})>(1, {1, 6, 9}, {0, 2, 0}, {0, 2, 0});
  check<depthwise(lanes, {3, 3, 3})>(1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3});
  check<depthwise(lanes, {3, 3, 3})>(1, {1, 2, 3}, {2, 4, 20}, {2, 3, 5});
}

TEST(ISA_SUITE(DepthwiseInt8Convolution), SeveralTasks) {
  constexpr ConvShape shape = depthwise(2 * lanes, {3, 3, 3});
  const ConvSizes sizes = conv_sizes(shape, 1, {9, 40, 64}, {1, 1, 1}, {1, 1, 1});
  const DepthwiseGeometry geometry = depthwise_geometry(shape, lanes, sizes);
  EXPECT_GT(geometry.bands, 1);
  EXPECT_GT(geometry.ranges, 1);
  check<shape, uint8_t>(sizes, 7);
}

}  // namespace
}  // namespace onnxc::kernels
