#include "kernels/cpu/conv/conv_depthwise.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_depthwise_packing.h"
#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/with_light_epilogue.h"

namespace onnxc::kernels {
namespace {

constexpr ConvShape depthwise(int64_t channels, const Axes& kernel, const Axes& stride = {1, 1, 1},
                              const Axes& dilation = {1, 1, 1}) {
  return {channels, channels, channels, kernel, stride, dilation};
}

// In groups of `members` channels.
constexpr ConvShape in_groups(int64_t groups, int64_t members, const Axes& kernel, const Axes& stride = {1, 1, 1},
                              const Axes& dilation = {1, 1, 1}) {
  return {groups * members, groups * members, groups, kernel, stride, dilation};
}

// Compares the kernel with the definition for one shape and size, with every operand a view with gaps.
template <ConvShape shape, class Input = float, class Output = float>
void check(int64_t batch, const Axes& size, const Axes& begin_pads, const Axes& end_pads, const Trial& trial = {}) {
  const Operands operands(shape, conv_sizes(shape, batch, size, begin_pads, end_pads), trial);
  BlockedTensor<Input> input(batch, shape.input_channels, size);
  input.fill_from(operands.input);
  const std::vector<float> packed = pack_depthwise_weights(shape, lanes, operands.weights);
  run_and_compare<DepthwiseConvolution<shape, Input, Output, PositionEpilogue<Output>>, Input, Output>(
      operands, input.data(), input.view, packed, trial);
}

// The same with an epilogue that may be applied in registers.
template <ConvShape shape>
void check_light(int64_t batch, const Axes& size, const Axes& begin_pads, const Axes& end_pads) {
  const Operands operands(shape, conv_sizes(shape, batch, size, begin_pads, end_pads), {});
  BlockedTensor<float> input(batch, shape.input_channels, size);
  input.fill_from(operands.input);
  run_and_compare<WithLightEpilogue<DepthwiseConvolution, shape, float, float>, float, float>(
      operands, input.data(), input.view, pack_depthwise_weights(shape, lanes, operands.weights), {});
}

TEST(ISA_SUITE(DepthwiseConvolution), EveryWidthAroundTheTile) {
  for (int64_t width = 1; width <= 27; ++width) {
    check<depthwise(lanes, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
    check_light<depthwise(lanes + 1, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
    check<depthwise(lanes, {1, 1, 3}, {1, 1, 2})>(1, {1, 2, width + 1}, {0, 0, 1}, {0, 0, 0});
  }
}

// Bytes less their zero point: exact sums, with the padding at the zero point.
template <ConvShape shape, class Input>
void check_bytes(const ConvSizes& sizes, Input zero_point) {
  check_random_bytes<DepthwiseConvolution<shape, Input, float, OfBytes>, shape>(
      sizes, zero_point, [](const std::vector<int8_t>& weights) {
        return pack_depthwise_weights(shape, lanes, std::vector<float>(weights.begin(), weights.end()));
      });
}

template <ConvShape shape>
void check_bytes(int64_t batch, const Axes& size, const Axes& begin_pads, const Axes& end_pads) {
  const ConvSizes sizes = conv_sizes(shape, batch, size, begin_pads, end_pads);
  for (const int zero_point : {0, 3, 255}) check_bytes<shape, uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check_bytes<shape, int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(DepthwiseConvolution), Bytes) {
  for (int64_t width = 1; width <= 27; width += 5)
    check_bytes<depthwise(lanes, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
  check_bytes<depthwise(lanes + 5, {3, 3, 3}, {1, 2, 2})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check_bytes<depthwise(3, {3, 3, 3}, {1, 1, 1}, {1, 2, 3})>(1, {4, 5, 11}, {1, 2, 3}, {1, 2, 3});
  check_bytes<in_groups(7, 4, {1, 3, 3}, {1, 2, 2})>(1, {2, 5, 12}, {0, 1, 1}, {0, 1, 1});
  check_bytes<depthwise(lanes, {1, 1, 9})>(1, {1, 2, 21}, {0, 0, 4}, {0, 0, 4});
}

TEST(ISA_SUITE(DepthwiseConvolution), EveryEndOfARow) {
  // Columns outside the row at either end: none, as many as half the kernel, and more.
  for (int64_t width = 4; width <= 23; ++width) {
    check<depthwise(lanes, {1, 1, 5})>(1, {1, 2, width}, {0, 0, 2}, {0, 0, 2});
    check<depthwise(lanes, {1, 2, 3})>(1, {1, 2, width}, {0, 1, 2}, {0, 0, 0});
    check<depthwise(lanes, {1, 2, 3})>(1, {1, 2, width}, {0, 0, 0}, {0, 1, 2});
    check<depthwise(lanes, {1, 1, 3}, {1, 1, 1}, {1, 1, 3})>(1, {1, 1, width}, {0, 0, 3}, {0, 0, 3});
    check<depthwise(lanes, {1, 1, 4}, {1, 1, 2})>(1, {1, 1, width}, {0, 0, 1}, {0, 0, 2});
  }
}

TEST(ISA_SUITE(DepthwiseConvolution), OddChannels) {
  check<depthwise(lanes + 5, {3, 3, 3})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<depthwise(3, {3, 3, 3})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<depthwise(3 * lanes - 1, {2, 1, 1})>(1, {4, 5, 3}, {0, 0, 0}, {0, 0, 0});
}

TEST(ISA_SUITE(DepthwiseConvolution), GroupsOfSeveralChannels) {
  // Fewer groups than a block has, as many, and a last block that is not full.
  check<in_groups(1, 2, {3, 3, 3})>(2, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<in_groups(2, 4, {3, 3, 3})>(1, {4, 5, 11}, {1, 1, 1}, {1, 1, 1});
  check<in_groups(7, 4, {3, 3, 3}, {1, 2, 2})>(1, {4, 5, 12}, {1, 1, 1}, {1, 1, 1});
  check<in_groups(lanes + 3, 2, {1, 2, 3}, {2, 1, 1}, {1, 3, 2})>(1, {3, 9, 21}, {0, 2, 2}, {0, 1, 2});
  check<in_groups(5, lanes / 2, {2, 1, 1})>(2, {4, 5, 3}, {0, 0, 0}, {0, 0, 0});
  check<in_groups(3, 4, {1, 3, 7})>(1, {1, 5, 21}, {0, 1, 3}, {0, 1, 3});
  check<in_groups(3, 4, {1, 1, 1})>(1, {2, 5, 9}, {0, 0, 0}, {0, 0, 0});
}

TEST(ISA_SUITE(DepthwiseConvolution), EveryWidthAroundTheTileInGroups) {
  for (int64_t width = 1; width <= 27; ++width) {
    check<in_groups(3, 4, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
    check_light<in_groups(lanes / 2 + 1, 2, {1, 3, 3})>(1, {2, 3, width}, {0, 1, 1}, {0, 1, 1});
    check<in_groups(2, 4, {1, 1, 3}, {1, 1, 2})>(1, {1, 2, width + 1}, {0, 0, 1}, {0, 0, 0});
  }
}

// Half a block of channels and a quarter: two and four voxels to a vector, at every end of a row.
TEST(ISA_SUITE(DepthwiseConvolution), SeveralVoxelsToAVector) {
  EXPECT_EQ(depthwise_voxels(depthwise(9, {1, 1, 1}), 16), 1);
  EXPECT_EQ(depthwise_voxels(depthwise(8, {1, 1, 1}), 16), 2);
  EXPECT_EQ(depthwise_voxels(depthwise(4, {1, 1, 1}), 16), 4);
  EXPECT_EQ(depthwise_voxels(depthwise(4, {1, 1, 1}, {1, 1, 2}), 16), 1);
  EXPECT_EQ(depthwise_voxels(depthwise(2, {1, 1, 1}), 8), 1);
  for (int64_t width = 1; width <= 45; width += width < 24 ? 1 : 3) {
    check<depthwise(lanes / 2, {1, 2, 3})>(1, {1, 2, width}, {0, 1, 1}, {0, 0, 1});
    check_light<depthwise(lanes / 4, {1, 1, 5})>(2, {1, 2, width}, {0, 0, 2}, {0, 0, 2});
    check<depthwise(lanes / 2 - 1, {1, 1, 3}, {1, 1, 2})>(1, {1, 2, width + 1}, {0, 0, 1}, {0, 0, 0});
  }
  check<depthwise(lanes / 2, {3, 3, 3}, {2, 2, 1}, {1, 2, 3})>(2, {7, 9, 41}, {2, 1, 4}, {0, 3, 5});
  check<depthwise(2, {3, 2, 4})>(2, {4, 5, 70}, {1, 1, 7}, {1, 0, 9});
  check<in_groups(lanes / 8, 4, {1, 3, 3})>(1, {2, 4, 37}, {0, 1, 1}, {0, 1, 1});
  check<in_groups(lanes / 8, 2, {1, 1, 4})>(1, {1, 2, 55}, {0, 0, 2}, {0, 0, 1});
  check<depthwise(lanes / 2, {1, 3, 3}), bfloat16_t, float>(1, {2, 5, 35}, {0, 1, 1}, {0, 1, 1});
  check<depthwise(lanes / 4, {1, 3, 3}), float16_t, float>(1, {2, 5, 35}, {0, 1, 1}, {0, 1, 1});
}

// Values in a voxel stay in the outputs that read it, and values in the lanes of no channel are not read.
TEST(ISA_SUITE(DepthwiseConvolution), NotFiniteInSeveralVoxelsToAVector) {
  const Trial trial{.fill = fill_with_nan_and_infinity};
  check<depthwise(lanes / 2, {1, 3, 3})>(1, {3, 5, 40}, {0, 1, 1}, {0, 1, 1}, trial);
  check<depthwise(2, {1, 1, 5})>(1, {3, 5, 40}, {0, 0, 2}, {0, 0, 2}, trial);
}

TEST(ISA_SUITE(DepthwiseConvolution), StrideDilationAndPadsThatDifferByAxis) {
  check<depthwise(lanes, {3, 2, 5}, {2, 3, 2})>(2, {7, 11, 23}, {1, 0, 2}, {0, 1, 3});
  check<depthwise(lanes, {2, 3, 3}, {1, 1, 1}, {3, 2, 4})>(1, {6, 7, 21}, {2, 3, 4}, {1, 0, 5});
  check<depthwise(lanes, {3, 3, 3}, {1, 2, 3}, {2, 1, 2})>(1, {9, 8, 34}, {4, 1, 2}, {2, 2, 1});
  check<depthwise(lanes, {1, 1, 4}, {1, 1, 3}, {1, 1, 5})>(1, {1, 2, 50}, {0, 0, 7}, {0, 0, 6});
}

TEST(ISA_SUITE(DepthwiseConvolution), WideKernels) {
  for (int64_t width = 5; width <= 31; width += 2) {
    check<depthwise(lanes, {1, 2, 7})>(1, {1, 3, width}, {0, 1, 3}, {0, 0, 3});
    check<depthwise(lanes / 2, {2, 1, 9})>(1, {2, 1, width}, {0, 0, 4}, {0, 0, 4});
    check<depthwise(lanes, {1, 1, 11})>(1, {1, 2, width}, {0, 0, 5}, {0, 0, 5});
  }
  check<depthwise(lanes, {3, 7, 7}, {2, 2, 2})>(1, {4, 8, 30}, {1, 3, 3}, {1, 3, 3});
  check<depthwise(lanes, {1, 1, 9}, {1, 1, 2}, {1, 1, 2})>(1, {1, 2, 40}, {0, 0, 8}, {0, 0, 8});
}

TEST(ISA_SUITE(DepthwiseConvolution), NegativePadsCropAndWidePadsReadNothing) {
  check<depthwise(lanes, {3, 3, 3})>(1, {7, 8, 19}, {-1, -2, 1}, {1, -1, -3});
  check<depthwise(lanes, {1, 2, 3})>(1, {1, 2, 3}, {2, 4, 20}, {1, 3, 5});
  check<depthwise(lanes, {3, 3, 3}, {2, 2, 2})>(1, {2, 2, 2}, {5, 6, 7}, {7, 6, 5});
}

TEST(ISA_SUITE(DepthwiseConvolution), SeveralBandsAndRanges) {
  constexpr ConvShape shape = depthwise(lanes, {3, 3, 3});
  const Axes size{26, 10, 150};
  const ConvSizes sizes = conv_sizes(shape, 1, size, {1, 1, 1}, {1, 1, 1});
  const DepthwiseGeometry geometry = depthwise_geometry(shape, lanes, sizes);
  ASSERT_GT(geometry.bands, 1);
  ASSERT_GT(geometry.ranges, 1);
  check<shape>(1, size, {1, 1, 1}, {1, 1, 1});
}

TEST(ISA_SUITE(DepthwiseConvolution), BandsFitTheFirstLevelCacheWhereARowDoes) {
  constexpr auto band_rows = [](const ConvShape& shape, const Axes& size) {
    return depthwise_geometry(shape, 16, conv_sizes(shape, 1, size, {}, {})).band_rows;
  };
  // 48 KiB hold 12 rows of 64 columns and 64 bytes: four for each of three planes; three planes are one output's.
  EXPECT_EQ(band_rows(depthwise(16, {3, 3, 3}), {9, 42, 64}), 2);
  EXPECT_EQ(band_rows(depthwise(16, {3, 1, 1}), {9, 40, 64}), 4);
  EXPECT_EQ(band_rows(depthwise(16, {3, 2, 2}, {1, 2, 2}), {9, 40, 64}), 2);
  // With rows of 256 columns not even three planes of three: 192 KiB hold four rows of each.
  EXPECT_EQ(band_rows(depthwise(16, {3, 3, 3}), {9, 42, 256}), 4);
}

TEST(ISA_SUITE(DepthwiseConvolution), HalfTypesAreComputedInFloat) {
  constexpr ConvShape shape = depthwise(lanes + 2, {1, 3, 3});
  check<shape, bfloat16_t, float>(1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  check<shape, float16_t, float>(1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  check<shape, float, float16_t>(1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});  // integers up to 2048 are exact
  check<in_groups(3, 4, {1, 3, 3}), float16_t, float>(1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
}

TEST(ISA_SUITE(DepthwiseConvolution), RandomValues) {
  // 27 products of normals, each sum below 30: 27 roundings of half a unit of 2^-19 at most.
  const Trial trial{.fill = fill_with_normals, .tolerance = 27 * 0x1p-20};
  check<depthwise(2 * lanes, {3, 3, 3})>(1, {5, 6, 17}, {1, 1, 1}, {1, 1, 1}, trial);
  // 108 products, each sum below 60.
  const Trial four_times{.fill = fill_with_normals, .tolerance = 108 * 0x1p-19};
  check<in_groups(lanes, 4, {3, 3, 3})>(1, {5, 6, 17}, {1, 1, 1}, {1, 1, 1}, four_times);
}

TEST(ISA_SUITE(DepthwiseConvolution), NothingToDo) {
  constexpr ConvShape shape = depthwise(lanes, {1, 1, 1});
  EXPECT_EQ(depthwise_geometry(shape, lanes, conv_sizes(shape, 1, {0, 4, 4}, {}, {})).work.tasks, 0);
  EXPECT_EQ(depthwise_geometry(shape, lanes, conv_sizes(shape, 0, {4, 4, 4}, {}, {})).work.tasks, 0);
}

TEST(ISA_SUITE(DepthwiseConvolution), SupportsGroupsThatDivideTheLanes) {
  EXPECT_TRUE(depthwise_supports({.input_channels = 5, .output_channels = 5, .groups = 5}, 8));
  EXPECT_FALSE(depthwise_supports({.input_channels = 5, .output_channels = 10, .groups = 5}, 8));
  EXPECT_TRUE(depthwise_supports({.input_channels = 12, .output_channels = 12, .groups = 3}, 8));
  EXPECT_FALSE(depthwise_supports({.input_channels = 9, .output_channels = 9, .groups = 3}, 8));
  EXPECT_FALSE(depthwise_supports({.input_channels = 16, .output_channels = 16, .groups = 2}, 8));
  EXPECT_TRUE(depthwise_supports({.input_channels = 16, .output_channels = 16, .groups = 2}, 16));
}

}  // namespace
}  // namespace onnxc::kernels
