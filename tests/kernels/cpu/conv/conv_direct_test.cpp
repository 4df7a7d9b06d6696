#include "kernels/cpu/conv/conv_direct.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_direct_packing.h"
#include "kernels/cpu/conv/groups_harness.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/with_light_epilogue.h"

namespace onnxc::kernels {
namespace {

// Compares the kernel with the definition for one shape and size, with every operand a view with gaps.
template <ConvShape shape, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  const std::vector<float> packed = pack_direct_weights(shape, lanes, lanes, operands.weights);
  run_and_compare<DirectConvolution<shape, Input, Output, PositionEpilogue<Output>>, Input, Output>(
      operands, input.data(), input.view, packed, trial);
}

// The same with an epilogue that may be applied in registers.
template <ConvShape shape>
void check_light(const ConvSizes& sizes) {
  const Operands operands(shape, sizes, {});
  BlockedTensor<float> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  run_and_compare<WithLightEpilogue<DirectConvolution, shape, float, float>, float, float>(
      operands, input.data(), input.view, pack_direct_weights(shape, lanes, lanes, operands.weights), {});
}

TEST(ISA_SUITE(DirectConvolution), EveryWidthAroundTheTile) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 2 * lanes, .kernel = {1, 3, 3}};
  for (int64_t width = 1; width <= 30; ++width) {
    check<shape>(conv_sizes(shape, 1, {2, 3, width}, {0, 1, 1}, {0, 1, 1}));
    check_light<shape>(conv_sizes(shape, 1, {2, 3, width}, {0, 1, 1}, {0, 1, 1}));
  }
}

TEST(ISA_SUITE(DirectConvolution), OddChannelsAndEveryNumberOfOutputBlocks) {
  constexpr ConvShape one{.input_channels = lanes + 1, .output_channels = lanes - 3, .kernel = {3, 3, 3}};
  constexpr ConvShape two{.input_channels = 2 * lanes + 3, .output_channels = lanes + 1, .kernel = {3, 3, 3}};
  constexpr ConvShape three{.input_channels = lanes - 2, .output_channels = 3 * lanes - 1, .kernel = {3, 3, 3}};
  constexpr ConvShape four{.input_channels = 1, .output_channels = 4 * lanes, .kernel = {3, 3, 3}};
  constexpr ConvShape five{.input_channels = lanes, .output_channels = 4 * lanes + 5, .kernel = {3, 3, 3}};
  check<one>(conv_sizes(one, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<two>(conv_sizes(two, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<three>(conv_sizes(three, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<four>(conv_sizes(four, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<five>(conv_sizes(five, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(DirectConvolution), StrideDilationAndPadsThatDifferByAxis) {
  constexpr ConvShape strided{
      .input_channels = 6, .output_channels = 2 * lanes, .kernel = {3, 2, 5}, .stride = {2, 3, 2}};
  check<strided>(conv_sizes(strided, 2, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  constexpr ConvShape dilated{
      .input_channels = 6, .output_channels = 2 * lanes, .kernel = {2, 3, 3}, .dilation = {3, 2, 4}};
  check<dilated>(conv_sizes(dilated, 1, {6, 7, 12}, {2, 3, 4}, {1, 0, 5}));
  constexpr ConvShape both{
      .input_channels = 4, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {1, 2, 3}, .dilation = {2, 1, 2}};
  check<both>(conv_sizes(both, 1, {9, 8, 14}, {4, 1, 2}, {2, 2, 1}));
}

TEST(ISA_SUITE(DirectConvolution), NegativePadsCrop) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 2 * lanes, .kernel = {3, 3, 3}};
  check<shape>(conv_sizes(shape, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
}

TEST(ISA_SUITE(DirectConvolution), PadsWiderThanTheKernel) {
  constexpr ConvShape shape{.input_channels = 2, .output_channels = lanes, .kernel = {1, 2, 3}};
  check<shape>(conv_sizes(shape, 1, {1, 2, 3}, {2, 4, 20}, {1, 3, 5}));
}

TEST(ISA_SUITE(DirectConvolution), PointwiseWithStride) {
  constexpr ConvShape plain{.input_channels = 3 * lanes + 2, .output_channels = 4 * lanes};
  check<plain>(conv_sizes(plain, 2, {3, 5, 11}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape strided{.input_channels = lanes, .output_channels = 2 * lanes, .stride = {2, 2, 2}};
  check<strided>(conv_sizes(strided, 1, {5, 7, 10}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(DirectConvolution), PointwiseAroundTheTileAndItsRows) {
  constexpr ConvShape one{.input_channels = lanes + 5, .output_channels = lanes - 3};
  constexpr ConvShape two{.input_channels = 7, .output_channels = 2 * lanes - 1};
  constexpr ConvShape three{.input_channels = 2 * lanes, .output_channels = 3 * lanes};
  for (int64_t width = 1; width <= 27; ++width) {
    check_light<one>(conv_sizes(one, 1, {1, 3, width}, {0, 0, 0}, {0, 0, 0}));
    check<two>(conv_sizes(two, 1, {2, 2, width}, {0, 0, 0}, {0, 0, 0}));
    check_light<two>(conv_sizes(two, 1, {2, 2, width}, {0, 0, 0}, {0, 0, 0}));
    check_light<three>(conv_sizes(three, 1, {1, 1, width}, {0, 0, 0}, {0, 0, 0}));
  }
}

TEST(ISA_SUITE(DirectConvolution), PointwiseInsidePadsAndCrops) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 2 * lanes};
  check<shape>(conv_sizes(shape, 2, {2, 3, 25}, {1, 2, 3}, {2, 1, 14}));
  check<shape>(conv_sizes(shape, 2, {4, 5, 40}, {-1, -2, -3}, {-1, 0, -2}));
  constexpr ConvShape strided{.input_channels = 6, .output_channels = 2 * lanes, .stride = {2, 3, 1}};
  check<strided>(conv_sizes(strided, 1, {5, 7, 30}, {1, 0, 0}, {0, 2, 0}));
}

TEST(ISA_SUITE(DirectConvolution), PointwiseInGroupsAndSeveralPasses) {
  constexpr ConvShape groups{.input_channels = 4 * lanes, .output_channels = 6 * lanes, .groups = 2};
  check<groups>(conv_sizes(groups, 2, {1, 3, 29}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape deep{.input_channels = lanes == 16 ? 2100 : 4200, .output_channels = 2 * lanes};
  const ConvSizes sizes = conv_sizes(deep, 1, {1, 2, 40}, {0, 0, 0}, {0, 0, 0});
  ASSERT_GT((DirectConvolution<deep, float, float, NoEpilogue>::work(sizes).scratch_bytes), 0);
  check<deep>(sizes);
}

TEST(ISA_SUITE(DirectConvolution), GroupsOfWholeBlocks) {
  constexpr ConvShape shape{
      .input_channels = 6 * lanes, .output_channels = 9 * lanes, .groups = 3, .kernel = {1, 3, 2}};
  check<shape>(conv_sizes(shape, 2, {2, 5, 6}, {0, 1, 1}, {0, 1, 0}));
}

TEST(ISA_SUITE(DirectConvolution), SeveralPassesKeepPartialSums) {
  constexpr ConvShape shape{.input_channels = 9 * lanes - 1, .output_channels = 3 * lanes, .kernel = {5, 5, 5}};
  const ConvSizes sizes = conv_sizes(shape, 1, {3, 4, 5}, {2, 2, 2}, {2, 2, 2});
  using Kernel = DirectConvolution<shape, float, float, NoEpilogue>;
  ASSERT_GT(Kernel::work(sizes).scratch_bytes, 0);
  check<shape>(sizes);
}

TEST(ISA_SUITE(DirectConvolution), SevenBySevenMaps) {
  constexpr ConvShape shape{.input_channels = 2 * lanes, .output_channels = 2 * lanes, .kernel = {3, 3, 3}};
  check<shape>(conv_sizes(shape, 3, {2, 7, 7}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(DirectConvolution), WeightsThatComeFromMemoryInSeveralRanges) {
  constexpr ConvShape shape{
      .input_channels = lanes == 16 ? 620 : 1230, .output_channels = 3 * lanes, .kernel = {1, 3, 3}};
  constexpr DirectPacking packing{shape, lanes, lanes};
  static_assert(direct_streams_weights(packing));
  const ConvSizes sizes = conv_sizes(shape, 1, {1, 11, 12}, {0, 1, 1}, {0, 1, 1});
  ASSERT_GT(direct_geometry(packing, sizes).ranges, 1);
  check<shape>(sizes);
}

TEST(ISA_SUITE(DirectConvolution), WeightsThatComeFromMemoryDoSoOnceForASmallMap) {
  constexpr ConvShape shape{.input_channels = 512, .output_channels = 512, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 7, 7}, {1, 1, 1}, {1, 1, 1});
  const DirectGeometry geometry = direct_geometry({shape, lanes, lanes}, sizes);
  EXPECT_EQ(geometry.ranges, 1);
  EXPECT_EQ(geometry.work.tasks, 512 / (2 * lanes));
}

TEST(ISA_SUITE(DirectConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {1, 1, 1}};
  EXPECT_EQ((DirectConvolution<shape, float, float, NoEpilogue>::work(conv_sizes(shape, 1, {0, 4, 4}, {}, {})).tasks),
            0);
  EXPECT_EQ((DirectConvolution<shape, float, float, NoEpilogue>::work(conv_sizes(shape, 0, {4, 4, 4}, {}, {})).tasks),
            0);
}

TEST(ISA_SUITE(DirectConvolution), HalfTypesAreComputedInFloat) {
  // Small integers are exact in both types; the sums are not always, so the result is the rounding of the exact one.
  constexpr ConvShape shape{.input_channels = lanes + 2, .output_channels = 2 * lanes + 3, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  check<shape, bfloat16_t, float>(sizes);
  check<shape, float16_t, float>(sizes);
  check<shape, float, float16_t>(sizes);  // integers up to 2048 are exact
  check<shape, bfloat16_t, bfloat16_t>(sizes,
                                       {.tolerance = 2.0});  // sums stay below 1024: half a unit of the last place is 2
}

TEST(ISA_SUITE(DirectConvolution), NanAndInfinityFlowThrough) {
  constexpr ConvShape shape{.input_channels = 2, .output_channels = lanes, .kernel = {1, 1, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {1, 1, 9}, {0, 0, 1}, {0, 0, 1});
  PlainTensor input(1, 2, sizes.input);
  input.values[2] = std::numeric_limits<float>::quiet_NaN();
  input.values[7] = std::numeric_limits<float>::infinity();
  BlockedTensor<float> blocked(1, 2, sizes.input), output(1, lanes, sizes.output);
  blocked.fill_from(input);
  const std::vector<float> packed = pack_direct_weights(shape, lanes, lanes, std::vector<float>(lanes * 2 * 3, 1.0f));
  using Kernel = DirectConvolution<shape, float, float, NoEpilogue>;
  run_tasks_backwards<Kernel>({blocked.data(), packed.data(), output.data(), sizes, blocked.view, output.view},
                              NoEpilogue{});
  for (int64_t w = 0; w < 9; ++w) {
    const float value = output.data()[output.offset(0, 0, 0, 0, w)];
    if (w >= 1 && w <= 3)
      EXPECT_TRUE(std::isnan(value)) << w;
    else if (w >= 6)
      EXPECT_TRUE(std::isinf(value)) << w;
    else
      EXPECT_EQ(value, 0.0f) << w;
  }
}

// Groups that begin at every lane of a block: of one, two and three blocks of outputs, and of unequal sides.
TEST(ISA_SUITE(DirectConvolution), GroupsThatShareBlocks) {
  const auto check_size = []<ConvShape shape>() {
    check<shape>(conv_sizes(shape, 2, {2, 3, 11}, {1, 1, 1}, {1, 1, 1}));
    check_light<shape>(conv_sizes(shape, 1, {3, 4, 2 * lanes + 3}, {1, 1, 1}, {1, 1, 1}));
  };
  constexpr Axes cube{3, 3, 3};
  check_size.template operator()<in_groups(2, 24, 24, cube)>();
  check_size.template operator()<in_groups(3, 20, 20, cube)>();
  check_size.template operator()<in_groups(4, 12, 12, cube)>();
  check_size.template operator()<in_groups(lanes + 1, lanes - 1, lanes - 1, cube)>();
  check_size.template operator()<in_groups(5, lanes + 1, 2 * lanes + 3, cube)>();
  check_size.template operator()<in_groups(3, 2 * lanes, 3 * lanes - 1, cube)>();
  check_size.template operator()<in_groups(5, lanes / 2, lanes, cube)>();
  check_size.template operator()<in_groups(3, lanes, lanes / 2, cube)>();
  check_size.template operator()<in_groups(3, 5, 7, cube)>();
  check_size.template operator()<in_groups(2, 1, 3, cube)>();
}

TEST(ISA_SUITE(DirectConvolution), GroupsThatShareBlocksWithOneTapAndWithStrides) {
  constexpr ConvShape one = in_groups(3, 20, 12, {1, 1, 1}), strided = in_groups(3, 13, 21, {1, 1, 1}, {2, 1, 2});
  constexpr ConvShape dilated = in_groups(2, 9, 2 * lanes + 1, {1, 2, 3}, {1, 2, 1}, {1, 2, 3});
  for (int64_t width = 1; width <= 2 * lanes; width += 3) {
    check<one>(conv_sizes(one, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
    check_light<one>(conv_sizes(one, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
    check<strided>(conv_sizes(strided, 1, {3, 2, width}, {0, 1, 1}, {1, 0, 1}));
    check<dilated>(conv_sizes(dilated, 2, {1, 7, width + 6}, {0, 1, 2}, {0, 2, 1}));
  }
}

TEST(ISA_SUITE(DirectConvolution), SeveralPassesOfGroupsThatShareBlocks) {
  constexpr ConvShape shape = in_groups(2, 9 * lanes - 3, lanes + 5, {5, 5, 5});
  const ConvSizes sizes = conv_sizes(shape, 1, {3, 4, 5}, {2, 2, 2}, {2, 2, 2});
  ASSERT_GT((DirectConvolution<shape, float, float, NoEpilogue>::work(sizes).scratch_bytes), 0);
  check<shape>(sizes);
}

TEST(ISA_SUITE(DirectConvolution), GroupsThatShareBlocksOfHalfTypes) {
  constexpr ConvShape shape = in_groups(3, 11, lanes + 3, {1, 3, 3}), one = in_groups(3, 11, lanes + 3, {1, 1, 1});
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  const ConvSizes of_one = conv_sizes(one, 1, {2, 5, 9}, {0, 0, 0}, {0, 0, 0});
  check<shape, bfloat16_t, float>(sizes);
  check<shape, float, float16_t>(sizes);  // integers up to 2048 are exact
  check<one, float16_t, float>(of_one);
  check<one, float, bfloat16_t>(of_one, {.tolerance = 2.0});  // sums below 1024
}

// Every channel of one group is NaN or an infinity: the others do not see it.
TEST(ISA_SUITE(DirectConvolution), NothingCrossesBetweenGroups) {
  constexpr ConvShape shape = in_groups(3, 12, 20, {1, 3, 3});
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 4, lanes + 3}, {0, 1, 1}, {0, 1, 1});
  for (int64_t group = 0; group < 3; ++group) check<shape>(sizes, not_finite_in_group(shape, sizes, group));
}

TEST(ISA_SUITE(DirectConvolution), WholeBlocks) {
  EXPECT_TRUE(has_whole_blocks({.input_channels = 3, .output_channels = 5}, lanes, lanes));
  EXPECT_TRUE(has_whole_blocks({.input_channels = 2 * lanes, .output_channels = 4 * lanes, .groups = 2}, lanes, lanes));
  EXPECT_FALSE(has_whole_blocks({.input_channels = lanes, .output_channels = 2 * lanes, .groups = 2}, lanes, lanes));
  EXPECT_FALSE(has_whole_blocks({.input_channels = 2 * lanes, .output_channels = lanes, .groups = 2}, lanes, lanes));
}

}  // namespace
}  // namespace onnxc::kernels
