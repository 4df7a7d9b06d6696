#include "kernels/cpu/conv_winograd/conv_winograd.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv_winograd/conv_winograd_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Compares the kernel with the definition for one shape and size, with every operand a view with gaps.
template <ConvShape shape, Axes tile, class Input = float, class Output = float>
void check_tile(const ConvSizes& sizes, const Trial& trial) {
  const Operands operands(shape, sizes, trial);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  using Kernel = WinogradConvolution<shape, Input, Output, PositionEpilogue<Output>, tile>;
  const std::vector<float> packed = pack_winograd_weights({shape, tile, lanes}, operands.weights);
  run_and_compare<Kernel, Input, Output>(operands, input.data(), input.view, packed, trial);
}

constexpr Axes tile_of(const ConvShape& shape, int64_t outer, int64_t row, int64_t column) {
  const WinogradForm form = winograd_form(shape, {});
  const Axes taps = form.ordered(shape.kernel);
  return form.ordered({taps.d == 3 ? outer : 1, taps.h > 1 ? row : 1, taps.w > 1 ? column : 1});
}

// Tiles of two: transformed weights of small integers are multiples of 1/8 and all sums stay below 2^21, so that they
// are exact.
template <ConvShape shape, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  check_tile<shape, tile_of(shape, 2, 2, 2), Input, Output>(sizes, trial);
}

// Integers for which tiles of four are exact too: G divides by 81 and 243, and what the matrices multiply stays below
// 2^24 units of the last place.
void fill_with_multiples(std::vector<float>& values, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> pick(-1, 1);
  for (float& value : values) value = static_cast<float>(pick(generator) * (seed == 2 ? 243 : 1));
}

// Tiles of four along each axis that may have them.
template <ConvShape shape>
void check_fours(const ConvSizes& sizes) {
  const Trial trial{.fill = fill_with_multiples};
  check_tile<shape, tile_of(shape, 2, 2, 4)>(sizes, trial);
  check_tile<shape, tile_of(shape, 2, 4, 2)>(sizes, trial);
}

// Tiles of four along two axes: rounded, whatever the operands are.
template <ConvShape shape>
void check_squares(const ConvSizes& sizes) {
  check_tile<shape, tile_of(shape, 2, 4, 4)>(sizes, {.tolerance = 2e-2});
}

// Five taps: rounded, too.
template <ConvShape shape, class Input = float, class Output = float>
void check_fives(const ConvSizes& sizes) {
  check_tile<shape, tile_of(shape, 2, 2, 2), Input, Output>(sizes, {.tolerance = 2e-2});
}

template <ConvShape shape>
void check_all(const ConvSizes& sizes) {
  check<shape>(sizes);
  check_fours<shape>(sizes);
}

TEST(ISA_SUITE(WinogradConvolution), EveryFormAroundTheTiles) {
  constexpr int64_t channels = lanes + 3;
  constexpr ConvShape volume{.input_channels = channels, .output_channels = lanes, .kernel = {3, 3, 3}};
  constexpr ConvShape plane{.input_channels = channels, .output_channels = lanes, .kernel = {1, 3, 3}};
  constexpr ConvShape depth{.input_channels = channels, .output_channels = lanes, .kernel = {3, 1, 1}};
  constexpr ConvShape height{.input_channels = channels, .output_channels = lanes, .kernel = {1, 3, 1}};
  constexpr ConvShape width{.input_channels = channels, .output_channels = lanes, .kernel = {1, 1, 3}};
  constexpr ConvShape depth_width{.input_channels = channels, .output_channels = lanes, .kernel = {3, 1, 3}};
  constexpr ConvShape depth_height{.input_channels = channels, .output_channels = lanes, .kernel = {3, 3, 1}};
  for (int64_t size = 1; size <= 9; ++size) {
    const Axes input{size, 10 - size, size + 1};
    check_all<volume>(conv_sizes(volume, 1, input, {1, 1, 1}, {1, 1, 1}));
    check_squares<volume>(conv_sizes(volume, 1, input, {1, 1, 1}, {1, 1, 1}));
    check_all<plane>(conv_sizes(plane, 1, input, {0, 1, 1}, {0, 1, 1}));
    check_squares<plane>(conv_sizes(plane, 1, input, {0, 1, 1}, {0, 1, 1}));
    check_all<depth>(conv_sizes(depth, 1, input, {1, 0, 0}, {1, 0, 0}));
    check_all<height>(conv_sizes(height, 1, input, {0, 1, 0}, {0, 1, 0}));
    check_all<width>(conv_sizes(width, 1, input, {0, 0, 1}, {0, 0, 1}));
    check_all<depth_width>(conv_sizes(depth_width, 1, input, {1, 0, 1}, {1, 0, 1}));
    check_squares<depth_width>(conv_sizes(depth_width, 1, input, {1, 0, 1}, {1, 0, 1}));
    check_all<depth_height>(conv_sizes(depth_height, 1, input, {1, 1, 0}, {1, 1, 0}));
  }
}

TEST(ISA_SUITE(WinogradConvolution), FiveTapsAroundTheTilesAndPads) {
  constexpr int64_t channels = lanes + 3;
  constexpr ConvShape volume{.input_channels = channels, .output_channels = lanes, .kernel = {5, 5, 5}};
  constexpr ConvShape plane{.input_channels = channels, .output_channels = lanes, .kernel = {1, 5, 5}};
  constexpr ConvShape depth{.input_channels = channels, .output_channels = lanes, .kernel = {5, 1, 1}};
  constexpr ConvShape width{.input_channels = channels, .output_channels = lanes, .kernel = {1, 1, 5}};
  constexpr ConvShape depth_height{.input_channels = channels, .output_channels = lanes, .kernel = {5, 5, 1}};
  constexpr ConvShape three_five{.input_channels = 5, .output_channels = lanes - 1, .kernel = {3, 5, 5}};
  constexpr ConvShape five_three{.input_channels = 6, .output_channels = lanes + 1, .kernel = {5, 1, 3}};
  constexpr ConvShape dilated{
      .input_channels = 7, .output_channels = lanes, .kernel = {5, 5, 5}, .dilation = {2, 1, 3}};
  for (int64_t size = 1; size <= 9; ++size) {
    const Axes input{size, 10 - size, size + 1};
    check_fives<volume>(conv_sizes(volume, 1, input, {2, 2, 2}, {2, 2, 2}));
    check_fives<plane>(conv_sizes(plane, 1, input, {0, 2, 2}, {0, 2, 2}));
    check_fives<depth>(conv_sizes(depth, 1, input, {2, 0, 0}, {2, 0, 0}));
    check_fives<width>(conv_sizes(width, 1, input, {0, 0, 2}, {0, 0, 3}));
    check_fives<depth_height>(conv_sizes(depth_height, 1, input, {2, 1, 0}, {2, 3, 0}));
    check_fives<three_five>(conv_sizes(three_five, 2, input, {1, 2, 2}, {1, 2, 2}));
    check_fives<five_three>(conv_sizes(five_three, 1, input, {2, 0, 1}, {2, 0, 1}));
    check_fives<dilated>(conv_sizes(dilated, 1, input, {4, 2, 6}, {4, 2, 6}));
  }
  // Pads that differ, that are wider than the kernel, and crops.
  check_fives<volume>(conv_sizes(volume, 1, {5, 6, 7}, {0, 4, 2}, {3, 0, 1}));
  check_fives<volume>(conv_sizes(volume, 1, {2, 3, 4}, {7, 6, 5}, {5, 8, 6}));
  check_fives<volume>(conv_sizes(volume, 1, {9, 10, 11}, {-1, -2, 1}, {1, -1, -3}));
}

TEST(ISA_SUITE(WinogradConvolution), FiveTapsWithSeveralChunksChainsGroupsRangesAndSplits) {
  constexpr ConvShape chains{.input_channels = 2 * lanes + 3, .output_channels = 3 * lanes - 1, .kernel = {5, 5, 5}};
  constexpr ConvShape groups{.input_channels = 140, .output_channels = lanes + 1, .kernel = {5, 5, 5}};
  constexpr ConvShape split{.input_channels = 4, .output_channels = 38 * lanes + 1, .kernel = {1, 5, 5}};
  const ConvSizes many = conv_sizes(chains, 2, {5, 22, 21}, {2, 2, 2}, {2, 2, 2});
  ASSERT_GT(winograd_geometry({chains, {1, 2, 2}, lanes}, many).ranges, 1);
  check_fives<chains>(many);
  EXPECT_EQ((WinogradPacking{groups, {1, 2, 2}, lanes}.group_rows()), 2);
  check_fives<groups>(conv_sizes(groups, 1, {3, 5, 9}, {2, 2, 2}, {2, 2, 2}));
  const ConvSizes few = conv_sizes(split, 2, {1, 9, 13}, {0, 2, 2}, {0, 2, 2});
  ASSERT_GT(winograd_geometry({split, {1, 2, 2}, lanes}, few).splits, 1);
  check_fives<split>(few);
  check_fives<chains, float16_t, float>(conv_sizes(chains, 1, {2, 3, 5}, {2, 2, 2}, {2, 2, 2}));
}

// Every tile that a shape with strides may have and that keeps integers exact.
template <ConvShape shape, int index = 0>
void check_strided(const ConvSizes& sizes, const Trial& trial = {}) {
  constexpr Axes tile{1 + index / 4, 1 + index / 2 % 2, 1 + index % 2};
  if constexpr (winograd_supports(shape, tile)) check_tile<shape, tile>(sizes, trial);
  if constexpr (index < 7) check_strided<shape, index + 1>(sizes, trial);
}

TEST(ISA_SUITE(WinogradConvolution), StridesOfTwoAroundTheTilesAndPads) {
  constexpr int64_t channels = lanes + 3;
  constexpr ConvShape volume{
      .input_channels = channels, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape plane{
      .input_channels = channels, .output_channels = lanes, .kernel = {1, 3, 3}, .stride = {1, 2, 2}};
  constexpr ConvShape depth{
      .input_channels = channels, .output_channels = lanes, .kernel = {3, 1, 1}, .stride = {2, 1, 1}};
  constexpr ConvShape width{
      .input_channels = channels, .output_channels = lanes, .kernel = {1, 1, 3}, .stride = {1, 1, 2}};
  for (int64_t size = 3; size <= 11; ++size)
    for (const int64_t pad : {0, 1, 2}) {
      const Axes input{size, 14 - size, size + 1};
      check_strided<volume>(conv_sizes(volume, 1, input, {pad, 1, pad}, {1, pad, 2 - pad}));
      check_strided<plane>(conv_sizes(plane, 1, input, {0, pad, 1}, {0, 1, pad}));
      check_strided<depth>(conv_sizes(depth, 1, input, {pad, 0, 0}, {1, 0, 0}));
      check_strided<width>(conv_sizes(width, 1, input, {0, 0, pad}, {0, 0, 1}));
    }
  check_strided<volume>(conv_sizes(volume, 1, {2, 3, 4}, {5, 4, 3}, {3, 6, 4}));
  check_strided<volume>(conv_sizes(volume, 1, {9, 10, 11}, {-1, -2, 1}, {1, -1, -3}));
  check_strided<volume>(conv_sizes(volume, 2, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(WinogradConvolution), StridesThatDifferAndStridesOfOneTap) {
  constexpr ConvShape planes{
      .input_channels = 5, .output_channels = lanes + 2, .kernel = {3, 3, 3}, .stride = {1, 2, 2}};
  constexpr ConvShape columns{.input_channels = 6, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 1}};
  constexpr ConvShape passed{.input_channels = 7, .output_channels = lanes, .kernel = {3, 1, 1}, .stride = {2, 3, 2}};
  constexpr ConvShape skipped{.input_channels = 4, .output_channels = lanes, .kernel = {1, 3, 3}, .stride = {3, 2, 2}};
  for (int64_t size = 4; size <= 9; ++size) {
    const Axes input{size, 12 - size, size + 2};
    check_strided<planes>(conv_sizes(planes, 1, input, {1, 1, 1}, {1, 1, 1}));
    check_strided<columns>(conv_sizes(columns, 1, input, {1, 0, 1}, {0, 1, 1}));
    check_tile<columns, Axes{2, 2, 4}>(conv_sizes(columns, 1, input, {1, 1, 1}, {1, 1, 1}),
                                       {.fill = fill_with_multiples});
    check_strided<passed>(conv_sizes(passed, 2, input, {1, 0, 1}, {1, 0, 0}));
    check_strided<skipped>(conv_sizes(skipped, 1, input, {1, 1, 0}, {1, 1, 1}));
  }
}

TEST(ISA_SUITE(WinogradConvolution), StridesWithSeveralRangesChunksAndChains) {
  constexpr ConvShape fetched{
      .input_channels = lanes, .output_channels = 3 * lanes - 1, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape split{
      .input_channels = 130, .output_channels = 37 * lanes + 1, .kernel = {1, 3, 3}, .stride = {1, 2, 2}};
  const ConvSizes many = conv_sizes(fetched, 2, {9, 42, 41}, {1, 1, 1}, {1, 1, 1});
  const WinogradGeometry geometry = winograd_geometry({fetched, {2, 2, 2}, lanes}, many);
  ASSERT_GT(geometry.ranges, 1);
  ASSERT_TRUE(geometry.prefetches);
  ASSERT_NE(geometry.tiles.product() % geometry.range_tiles, 0);
  check_strided<fetched>(many);
  const ConvSizes few = conv_sizes(split, 1, {2, 26, 39}, {0, 1, 1}, {0, 1, 1});
  ASSERT_GT(winograd_geometry({split, {1, 2, 2}, lanes}, few).splits, 1);
  check_tile<split, Axes{1, 2, 2}>(few, {});
}

TEST(ISA_SUITE(WinogradConvolution), DilationsAroundTheTilesAndPads) {
  constexpr int64_t channels = lanes + 3;
  constexpr ConvShape twos{
      .input_channels = channels, .output_channels = lanes, .kernel = {3, 3, 3}, .dilation = {2, 2, 2}};
  constexpr ConvShape mixed{
      .input_channels = 5, .output_channels = lanes + 2, .kernel = {3, 3, 3}, .dilation = {1, 4, 3}};
  constexpr ConvShape plane{.input_channels = 6, .output_channels = lanes, .kernel = {1, 3, 3}, .dilation = {3, 2, 4}};
  constexpr ConvShape swapped{
      .input_channels = 4, .output_channels = lanes, .kernel = {3, 1, 3}, .dilation = {4, 2, 3}};
  constexpr ConvShape depth{
      .input_channels = 7, .output_channels = 2 * lanes, .kernel = {3, 1, 1}, .dilation = {3, 2, 2}};
  for (int64_t size = 1; size <= 11; ++size) {
    const Axes input{size, 12 - size, size + 3};
    check_all<twos>(conv_sizes(twos, 1, input, {2, 2, 2}, {2, 2, 2}));
    check_all<twos>(conv_sizes(twos, 1, input, {4, 1, 3}, {1, 4, 2}));
    check_squares<twos>(conv_sizes(twos, 1, input, {2, 3, 1}, {2, 1, 2}));
    check_all<mixed>(conv_sizes(mixed, 2, input, {1, 4, 3}, {1, 4, 3}));
    check_all<mixed>(conv_sizes(mixed, 1, input, {2, 7, 1}, {1, 1, 5}));
    check_all<plane>(conv_sizes(plane, 1, input, {0, 2, 4}, {0, 2, 4}));
    check_squares<plane>(conv_sizes(plane, 1, input, {0, 3, 5}, {0, 1, 3}));
    check_all<swapped>(conv_sizes(swapped, 1, input, {4, 0, 3}, {4, 0, 3}));
    check_squares<swapped>(conv_sizes(swapped, 1, input, {5, 0, 1}, {3, 0, 5}));
    check_all<depth>(conv_sizes(depth, 1, input, {3, 0, 0}, {3, 0, 0}));
  }
  // Pads that are wider than the kernel, crops, and one axis with a stride beside dilated ones.
  check_all<twos>(conv_sizes(twos, 1, {2, 3, 4}, {9, 8, 7}, {6, 9, 8}));
  check_all<twos>(conv_sizes(twos, 1, {9, 10, 11}, {-1, -2, 1}, {1, -1, -3}));
  constexpr ConvShape strided{
      .input_channels = 3, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 1, 1}, .dilation = {1, 2, 3}};
  check_strided<strided>(conv_sizes(strided, 1, {9, 8, 10}, {1, 2, 3}, {1, 2, 3}));
}

TEST(ISA_SUITE(WinogradConvolution), DilationsWithSeveralRangesSplitsAndChains) {
  constexpr ConvShape ranges{
      .input_channels = lanes, .output_channels = 3 * lanes - 1, .kernel = {3, 3, 3}, .dilation = {2, 1, 2}};
  const ConvSizes many = conv_sizes(ranges, 2, {9, 42, 41}, {2, 1, 2}, {2, 1, 2});
  const WinogradGeometry geometry = winograd_geometry({ranges, {2, 2, 2}, lanes}, many);
  ASSERT_EQ(geometry.lattices, 4);
  ASSERT_GT(geometry.ranges, 1);
  ASSERT_NE(geometry.tiles.product() % geometry.range_tiles, 0);
  check_all<ranges>(many);
  check_squares<ranges>(many);
  constexpr ConvShape split{
      .input_channels = 130, .output_channels = 37 * lanes + 1, .kernel = {1, 3, 3}, .dilation = {1, 1, 2}};
  const ConvSizes few = conv_sizes(split, 1, {1, 13, 15}, {0, 1, 2}, {0, 1, 2});
  ASSERT_GT(winograd_geometry({split, {1, 2, 2}, lanes}, few).splits, 1);
  check_tile<split, Axes{1, 2, 2}>(few, {});
}

TEST(ISA_SUITE(WinogradConvolution), DilationsOfHalfTypesAndOfWhatIsNotFinite) {
  constexpr ConvShape shape{
      .input_channels = 3, .output_channels = lanes + 2, .kernel = {3, 3, 3}, .dilation = {2, 3, 2}};
  const ConvSizes sizes = conv_sizes(shape, 2, {5, 6, 9}, {2, 3, 2}, {2, 3, 2});
  check<shape, bfloat16_t, float>(sizes);
  check<shape, float, float16_t>(sizes);
  check<shape>(sizes, {.fill = fill_with_some_not_finite});
  check_tile<shape, Axes{2, 2, 4}>(sizes, {.fill = fill_with_nan_and_infinity, .tolerance = 1e-3});
}

TEST(ISA_SUITE(WinogradConvolution), EveryNumberOfTilesInARegisterTile) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 2 * lanes, .kernel = {1, 1, 3}};
  for (int64_t width = 1; width <= 60; ++width) check<shape>(conv_sizes(shape, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(WinogradConvolution), OddChannelsAndEveryNumberOfOutputBlocks) {
  constexpr ConvShape one{.input_channels = lanes + 1, .output_channels = lanes - 3, .kernel = {3, 3, 3}};
  constexpr ConvShape two{.input_channels = 2 * lanes + 3, .output_channels = lanes + 1, .kernel = {3, 3, 3}};
  constexpr ConvShape three{.input_channels = lanes - 2, .output_channels = 3 * lanes - 1, .kernel = {3, 3, 3}};
  constexpr ConvShape five{.input_channels = lanes, .output_channels = 4 * lanes + 5, .kernel = {3, 3, 3}};
  check<one>(conv_sizes(one, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<two>(conv_sizes(two, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<three>(conv_sizes(three, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<five>(conv_sizes(five, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check_fours<one>(conv_sizes(one, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check_fours<three>(conv_sizes(three, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(WinogradConvolution), SeveralChainsOfChannels) {
  constexpr int64_t chain = 64;
  constexpr ConvShape two{.input_channels = 2 * chain, .output_channels = lanes, .kernel = {1, 1, 3}};
  constexpr ConvShape rest{.input_channels = 2 * chain + lanes + 1, .output_channels = 2 * lanes, .kernel = {1, 1, 3}};
  check<two>(conv_sizes(two, 1, {1, 2, 30}, {0, 0, 1}, {0, 0, 1}));
  check<rest>(conv_sizes(rest, 1, {1, 2, 30}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(WinogradConvolution), GroupsOfRowPoints) {
  constexpr ConvShape all{.input_channels = 140, .output_channels = lanes + 1, .kernel = {3, 3, 3}};
  constexpr ConvShape single{.input_channels = 160, .output_channels = 2 * lanes + 1, .kernel = {1, 3, 3}};
  constexpr ConvShape wide{.input_channels = 128, .output_channels = 2 * lanes + 1, .kernel = {1, 3, 3}};
  constexpr ConvShape pairs{.input_channels = 640, .output_channels = lanes, .kernel = {3, 1, 1}};
  constexpr ConvShape uneven{.input_channels = 160, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  EXPECT_EQ((WinogradPacking{all, {2, 2, 4}, lanes}.group_rows()), 4);
  EXPECT_EQ((WinogradPacking{single, {1, 2, 4}, lanes}.group_rows()), 1);
  EXPECT_EQ((WinogradPacking{pairs, {4, 1, 1}, lanes}.group_rows()), 2);
  EXPECT_EQ((WinogradPacking{uneven, {2, 2, 2}, lanes}.group_rows()), 2);
  EXPECT_EQ((WinogradPacking{uneven, {2, 2, 2}, lanes}.rows_of(2)), 1);
  check_all<all>(conv_sizes(all, 2, {3, 5, 9}, {1, 1, 1}, {1, 1, 1}));
  EXPECT_EQ((WinogradPacking{all, {2, 4, 4}, lanes}.group_rows()), 2);
  check_squares<all>(conv_sizes(all, 2, {3, 5, 9}, {1, 1, 1}, {1, 1, 1}));
  check_all<single>(conv_sizes(single, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}));
  EXPECT_EQ((WinogradPacking{single, {1, 4, 4}, lanes}.group_rows()), 1);
  EXPECT_EQ((WinogradPacking{wide, {1, 4, 4}, lanes}.group_rows()), 2);
  check_squares<wide>(conv_sizes(wide, 2, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}));
  check_squares<single>(conv_sizes(single, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}));
  check_all<pairs>(conv_sizes(pairs, 1, {7, 2, 9}, {1, 0, 0}, {1, 0, 0}));
  check_strided<uneven>(conv_sizes(uneven, 1, {5, 6, 9}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(WinogradConvolution), PadsThatDifferAreWiderThanTheKernelOrCrop) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes + 2, .kernel = {3, 3, 3}};
  check<shape>(conv_sizes(shape, 1, {5, 6, 7}, {0, 1, 2}, {2, 0, 1}));
  check<shape>(conv_sizes(shape, 1, {2, 3, 4}, {5, 4, 3}, {3, 6, 4}));
  check<shape>(conv_sizes(shape, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  check_fours<shape>(conv_sizes(shape, 1, {5, 6, 7}, {0, 1, 2}, {2, 0, 1}));
  check_fours<shape>(conv_sizes(shape, 1, {2, 3, 4}, {5, 4, 3}, {3, 6, 4}));
  check_fours<shape>(conv_sizes(shape, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  check_squares<shape>(conv_sizes(shape, 1, {5, 6, 7}, {0, 1, 2}, {2, 0, 1}));
  check_squares<shape>(conv_sizes(shape, 1, {2, 3, 4}, {5, 4, 3}, {3, 6, 4}));
  check_squares<shape>(conv_sizes(shape, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  constexpr ConvShape untransformed{.input_channels = 3, .output_channels = lanes, .kernel = {3, 1, 1}};
  check<untransformed>(conv_sizes(untransformed, 1, {3, 4, 5}, {1, 2, 3}, {1, 1, 2}));
}

TEST(ISA_SUITE(WinogradConvolution), SeveralRangesAndSplits) {
  constexpr ConvShape shape{.input_channels = 4, .output_channels = 18 * lanes + 1, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 2, {1, 9, 13}, {1, 1, 1}, {1, 1, 1});
  const WinogradGeometry geometry = winograd_geometry({shape, tile_of(shape, 2, 2, 2), lanes}, sizes);
  ASSERT_GT(geometry.ranges, 1);
  ASSERT_GT(geometry.splits, 1);
  ASSERT_NE(geometry.tiles.product() % geometry.range_tiles, 0);
  check<shape>(sizes);
  const ConvSizes squares = conv_sizes(shape, 2, lanes == 8 ? Axes{1, 9, 21} : Axes{1, 13, 37}, {1, 1, 1}, {1, 1, 1});
  ASSERT_GT(winograd_geometry({shape, {2, 4, 4}, lanes}, squares).ranges, 1);
  ASSERT_GT(winograd_geometry({shape, {2, 4, 4}, lanes}, squares).splits, 1);
  check_squares<shape>(squares);
}

TEST(ISA_SUITE(WinogradConvolution), WeightsThatComeFromMemoryDoSoOnceWhereASplitRangeHoldsTheMap) {
  constexpr ConvShape shape{.input_channels = 256, .output_channels = 256, .kernel = {3, 3, 3}};
  const WinogradPacking packing{shape, {2, 2, 2}, lanes};
  const Axes pads{1, 1, 1};
  const int64_t width = lanes == 16 ? 14 : 10;
  const WinogradGeometry held = winograd_geometry(packing, conv_sizes(shape, 1, {4, 14, width}, pads, pads));
  EXPECT_EQ(held.ranges, 1);
  EXPECT_EQ(held.passes, 1);
  EXPECT_GT(held.splits, 1);
  const WinogradGeometry larger = winograd_geometry(packing, conv_sizes(shape, 1, {8, 28, 28}, pads, pads));
  EXPECT_EQ(larger.passes, larger.ranges);
  EXPECT_GT(larger.ranges, 1);
}

TEST(ISA_SUITE(WinogradConvolution), FewRangesAreLongWhereTheirWeightsFillTheSecondLevelCache) {
  constexpr ConvShape shape{.input_channels = 128, .output_channels = 32, .kernel = {3, 3, 3}};
  constexpr Axes pads{1, 1, 1};
  constexpr WinogradPacking packing{shape, {2, 2, 2}, lanes};
  constexpr int64_t rows = winograd_rows(lanes);
  const ConvSizes sizes = conv_sizes(shape, 1, {4, 6, 4 * rows - 4}, pads, pads);  // twelve groups less a few tiles
  EXPECT_EQ(winograd_geometry(packing, sizes).range_tiles, 3 * rows);
  // With AVX2 three register tiles are small enough to fit beside the weights anywhere.
  if (lanes == 16)
    EXPECT_LT(winograd_geometry(packing, conv_sizes(shape, 1, {8, 12, 4 * rows}, pads, pads)).range_tiles, 3 * rows);
  check<shape>(sizes);
}

TEST(ISA_SUITE(WinogradConvolution), HalfTypesAreComputedInFloat) {
  constexpr ConvShape shape{.input_channels = lanes + 2, .output_channels = lanes + 3, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  check<shape, bfloat16_t, float>(sizes);
  check<shape, float16_t, float>(sizes);
  check<shape, float, float16_t>(sizes);                            // integers up to 2048 are exact
  check<shape, bfloat16_t, bfloat16_t>(sizes, {.tolerance = 2.0});  // half a unit of the last place below 1024
}

TEST(ISA_SUITE(WinogradConvolution), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape volume{.input_channels = 3, .output_channels = lanes + 2, .kernel = {3, 3, 3}};
  constexpr ConvShape swapped{.input_channels = lanes + 1, .output_channels = lanes, .kernel = {3, 1, 3}};
  constexpr ConvShape row{.input_channels = 2, .output_channels = 3 * lanes, .kernel = {1, 3, 1}};
  const Trial trial{.fill = fill_with_some_not_finite};
  check<volume>(conv_sizes(volume, 2, {5, 6, 9}, {1, 1, 1}, {1, 1, 1}), trial);
  // With tiles of four, weights of what is computed again were rounded when they were transformed.
  const Trial rounded{.fill = fill_with_nan_and_infinity, .tolerance = 1e-3};
  check_tile<volume, Axes{2, 2, 4}>(conv_sizes(volume, 2, {5, 6, 9}, {1, 1, 1}, {1, 1, 1}), rounded);
  check_tile<volume, Axes{2, 4, 4}>(conv_sizes(volume, 2, {5, 6, 9}, {1, 1, 1}, {1, 1, 1}), rounded);
  check_tile<swapped, Axes{4, 1, 4}>(conv_sizes(swapped, 1, {7, 4, 6}, {1, 0, 2}, {0, 0, 1}), rounded);
  check_tile<row, Axes{1, 4, 1}>(conv_sizes(row, 1, {2, 9, 5}, {0, 1, 0}, {0, 1, 0}), rounded);
  constexpr ConvShape fives{.input_channels = 3, .output_channels = lanes + 2, .kernel = {5, 5, 5}};
  constexpr ConvShape plane{.input_channels = 5, .output_channels = lanes, .kernel = {1, 5, 5}};
  check_tile<fives, Axes{1, 2, 2}>(conv_sizes(fives, 1, {5, 6, 9}, {2, 2, 2}, {2, 2, 2}), rounded);
  check_tile<plane, Axes{1, 2, 2}>(conv_sizes(plane, 2, {2, 9, 7}, {0, 2, 1}, {0, 2, 3}), rounded);
  constexpr ConvShape strided{
      .input_channels = 3, .output_channels = lanes + 2, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check_strided<strided>(conv_sizes(strided, 2, {9, 6, 11}, {1, 1, 1}, {1, 1, 1}), trial);
  check<swapped>(conv_sizes(swapped, 1, {7, 4, 6}, {1, 0, 2}, {0, 0, 1}), trial);
  check<row>(conv_sizes(row, 1, {2, 9, 5}, {0, 1, 0}, {0, 1, 0}), trial);
}

TEST(ISA_SUITE(WinogradConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {1, 3, 3}};
  EXPECT_EQ(
      winograd_geometry({shape, tile_of(shape, 2, 2, 2), lanes}, conv_sizes(shape, 1, {0, 4, 4}, {}, {})).work.tasks,
      0);
  EXPECT_EQ(
      winograd_geometry({shape, tile_of(shape, 2, 2, 2), lanes}, conv_sizes(shape, 0, {4, 4, 4}, {}, {})).work.tasks,
      0);
}

TEST(ISA_SUITE(WinogradConvolution), SupportsFiveTaps) {
  constexpr ConvShape volume{.input_channels = 3, .output_channels = 5, .kernel = {5, 5, 5}};
  constexpr ConvShape mixed{.input_channels = 3, .output_channels = 5, .kernel = {5, 3, 3}};
  EXPECT_TRUE(winograd_supports(volume, {1, 2, 2}));
  EXPECT_FALSE(winograd_supports(volume, {2, 2, 2}));
  EXPECT_FALSE(winograd_supports(volume, {1, 2, 4}));
  EXPECT_FALSE(winograd_supports(volume, {1, 1, 2}));
  EXPECT_TRUE(winograd_supports(mixed, {1, 2, 2}));
  EXPECT_TRUE(winograd_supports(mixed, {1, 4, 4}));
  EXPECT_FALSE(winograd_supports(mixed, {2, 2, 2}));
  EXPECT_FALSE(winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {5, 5, 5}, .stride = {1, 2, 1}},
                                 {1, 2, 2}));
}

TEST(ISA_SUITE(WinogradConvolution), SupportsThreeTapsAtStridesOfOneAndTwo) {
  constexpr Axes cube{3, 3, 3};
  constexpr ConvShape volume{.input_channels = 3, .output_channels = 5, .kernel = cube};
  EXPECT_TRUE(winograd_supports(volume, {2, 2, 2}));
  EXPECT_TRUE(winograd_supports(volume, {2, 2, 4}));
  EXPECT_FALSE(winograd_supports(volume, {4, 2, 2}));
  EXPECT_TRUE(winograd_supports(volume, {2, 4, 4}));
  EXPECT_FALSE(winograd_supports(volume, {4, 4, 4}));
  EXPECT_FALSE(winograd_supports(volume, {4, 2, 4}));
  EXPECT_FALSE(winograd_supports(volume, {1, 2, 2}));
  EXPECT_TRUE(winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {3, 1, 3}}, {2, 1, 2}));
  EXPECT_FALSE(winograd_supports({.input_channels = 3, .output_channels = 5}, {1, 1, 1}));
  EXPECT_FALSE(winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {2, 3, 3}}, {2, 2, 2}));
  EXPECT_FALSE(winograd_supports({.input_channels = 4, .output_channels = 4, .groups = 2, .kernel = cube}, {2, 2, 2}));
  EXPECT_TRUE(
      winograd_supports({.input_channels = 4, .output_channels = 4, .kernel = cube, .dilation = {1, 1, 2}}, {2, 2, 2}));
  EXPECT_FALSE(winograd_supports(
      {.input_channels = 4, .output_channels = 4, .kernel = cube, .stride = {1, 1, 2}, .dilation = {1, 1, 2}},
      {2, 2, 2}));
  constexpr ConvShape plane{.input_channels = 3, .output_channels = 5, .kernel = {1, 3, 3}};
  EXPECT_TRUE(winograd_supports(plane, {1, 4, 2}));
  EXPECT_TRUE(winograd_supports(plane, {1, 4, 4}));
  EXPECT_FALSE(winograd_supports(plane, {2, 2, 2}));
  EXPECT_FALSE(winograd_supports(plane, {1, 1, 2}));
  constexpr ConvShape strided{.input_channels = 3, .output_channels = 5, .kernel = cube, .stride = {1, 2, 2}};
  EXPECT_TRUE(winograd_supports(strided, {2, 2, 2}));
  EXPECT_TRUE(winograd_supports(strided, {2, 1, 2}));
  EXPECT_FALSE(winograd_supports(strided, {1, 2, 2}));
  EXPECT_FALSE(winograd_supports(strided, {2, 2, 4}));
  EXPECT_FALSE(
      winograd_supports({.input_channels = 4, .output_channels = 4, .kernel = cube, .stride = {2, 2, 3}}, {2, 2, 2}));
}

}  // namespace
}  // namespace onnxc::kernels
