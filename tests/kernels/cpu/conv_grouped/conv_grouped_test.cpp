// GroupedConvolution, plain and transposed: exact sums for every width, group, stride, dilation and pad, and nothing
// that crosses between groups.
#include "kernels/cpu/conv_grouped/conv_grouped.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/groups_harness.h"
#include "kernels/cpu/conv_grouped/conv_grouped_packing.h"
#include "kernels/cpu/conv_transpose/conv_transpose_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Compares the kernel with the definition for one shape and size, with every operand a view with gaps.
template <ConvShape shape, bool is_transposed, class Input, class Output>
void check_kernel(const ConvSizes& sizes, const Trial& trial) {
  const Operands operands(shape, sizes, trial, is_transposed ? reference_transposed : reference_convolution);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  const std::vector<float> packed = pack_grouped_weights(shape, lanes, is_transposed, operands.weights);
  EXPECT_EQ(std::ssize(packed), (GroupedPacking{shape, lanes}.size()));
  using Kernel = GroupedConvolution<shape, Input, Output, PositionEpilogue<Output>, is_transposed>;
  run_and_compare<Kernel, Input, Output>(operands, input.data(), input.view, packed, trial);
}

template <ConvShape shape, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<shape, false, Input, Output>(sizes, trial);
}
template <ConvShape shape, class Input = float, class Output = float>
void check_transposed(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<shape, true, Input, Output>(sizes, trial);
}

constexpr Axes cube{3, 3, 3}, twos{2, 2, 2};

TEST(ISA_SUITE(GroupedConvolution), EveryWidthAroundTheTile) {
  constexpr ConvShape senet = in_groups(lanes, 2, 4, {1, 3, 3}), odd = in_groups(9, 3, 5, {1, 1, 3});
  for (int64_t width = 1; width <= 2 * lanes + 4; ++width) {
    check<senet>(conv_sizes(senet, 1, {2, 3, width}, {0, 1, 1}, {0, 1, 1}));
    check<odd>(conv_sizes(odd, 1, {2, 3, width + 2}, {0, 0, 0}, {0, 0, 0}));
  }
}

// One block that holds all inputs of a block of outputs, two, three and more; equal sides, more outputs, more inputs.
TEST(ISA_SUITE(GroupedConvolution), Groups) {
  const auto check_size = []<ConvShape shape>() {
    check<shape>(conv_sizes(shape, 2, {2, 3, 11}, {1, 1, 1}, {1, 1, 1}));
  };
  check_size.template operator()<in_groups(lanes + 3, 1, 2, cube)>();
  check_size.template operator()<in_groups(5, 1, 3, cube)>();
  check_size.template operator()<in_groups(lanes / 2 + 1, 2, 4, cube)>();
  check_size.template operator()<in_groups(9, 3, 5, cube)>();
  check_size.template operator()<in_groups(11, 3, 3, cube)>();
  check_size.template operator()<in_groups(9, 6, 6, cube)>();
  check_size.template operator()<in_groups(9, 7, 7, cube)>();
  check_size.template operator()<in_groups(5, 5, 3, cube)>();
  check_size.template operator()<in_groups(lanes + 1, 4, 1, cube)>();
  check_size.template operator()<in_groups(5, lanes + 5, 2, cube)>();
  check_size.template operator()<in_groups(2, 3, lanes - 1, cube)>();
  check_size.template operator()<in_groups(5, lanes / 2, lanes, cube)>();
  check_size.template operator()<in_groups(3, lanes + 3, lanes, cube)>();
  check_size.template operator()<in_groups(5, 2, 3, {2, 2, 7})>();
  check_size.template operator()<in_groups(3, lanes + 1, lanes + 1, cube)>();
  check_size.template operator()<in_groups(3, 5, 2 * lanes - 3, cube)>();
  check_size.template operator()<in_groups(2 * lanes, lanes, 1, {1, 1, 2})>();
  check_size.template operator()<in_groups(lanes + 2, 1, 1, {3, 2, 3})>();
}

TEST(ISA_SUITE(GroupedConvolution), OneTapStridesDilationsAndPads) {
  constexpr ConvShape one = in_groups(7, 3, 5, {1, 1, 1}), skips = in_groups(7, 3, 5, {1, 1, 1}, {1, 2, 3});
  constexpr ConvShape strided = in_groups(6, 2, 4, {3, 2, 5}, {2, 3, 2});
  constexpr ConvShape far = in_groups(6, 2, 3, {1, 2, 3}, {1, 1, 1}, {1, 2, 40});
  constexpr ConvShape both = in_groups(5, 3, 2, {2, 3, 4}, {1, 2, 3}, {3, 1, 2});
  check<one>(conv_sizes(one, 2, {2, 3, 2 * lanes + 1}, {0, 0, 0}, {0, 0, 0}));
  check<skips>(conv_sizes(skips, 1, {2, 5, 50}, {0, 1, 2}, {0, 0, 4}));
  check<strided>(conv_sizes(strided, 1, {7, 11, 50}, {1, 0, 2}, {0, 1, 3}));
  check<far>(conv_sizes(far, 1, {1, 4, 100}, {0, 1, 40}, {0, 1, 30}));
  check<both>(conv_sizes(both, 1, {9, 8, 60}, {-1, -2, 7}, {1, 3, -3}));
  check<strided>(conv_sizes(strided, 1, {1, 2, 3}, {2, 4, 20}, {2, 3, 5}));
}

TEST(ISA_SUITE(GroupedConvolution), TransposedOfEveryWidth) {
  constexpr ConvShape depthwise = in_groups(lanes + 3, 1, 1, cube, twos),
                      odd = in_groups(9, 3, 5, {1, 3, 4}, {1, 2, 2});
  for (int64_t width = 1; width <= 2 * lanes + 4; ++width) {
    check_transposed<depthwise>(transposed_sizes(depthwise, 1, {2, 3, width}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
    check_transposed<odd>(transposed_sizes(odd, 1, {2, 3, width}, {0, 1, 1}, {0, 0, 1}));
  }
}

TEST(ISA_SUITE(GroupedConvolution), TransposedGroups) {
  const auto check_size = []<ConvShape shape>() {
    check_transposed<shape>(transposed_sizes(shape, 2, {2, 3, 7}, {1, 0, 1}, {0, 1, 1}));
  };
  check_size.template operator()<in_groups(lanes / 2 + 1, 2, 4, cube, twos)>();
  check_size.template operator()<in_groups(5, 1, 3, cube, twos)>();
  check_size.template operator()<in_groups(9, 6, 6, {2, 2, 2}, twos)>();
  check_size.template operator()<in_groups(5, lanes + 5, 2, cube, twos)>();
  check_size.template operator()<in_groups(lanes + 1, 4, 1, {5, 4, 7}, {3, 1, 2})>();
  check_size.template operator()<in_groups(lanes, 1, 1, {7, 7, 7}, twos)>();
}

// Kernels narrower than the stride leave outputs that are the epilogue of zero; strides and dilations with and without
// a common divisor; stride one.
TEST(ISA_SUITE(GroupedConvolution), TransposedStridesAndDilations) {
  constexpr ConvShape narrow = in_groups(7, 2, 3, {1, 2, 1}, {2, 3, 3});
  constexpr ConvShape coprime = in_groups(7, 2, 3, {2, 3, 4}, {2, 3, 2}, {3, 2, 3});
  constexpr ConvShape common = in_groups(7, 1, 1, {3, 2, 3}, {2, 4, 6}, {2, 6, 4});
  constexpr ConvShape stride_one = in_groups(7, 3, 3, {2, 3, 4});
  constexpr ConvShape far = in_groups(7, 2, 2, {1, 1, 3}, {1, 1, 1}, {1, 1, 40});
  check_transposed<narrow>(transposed_sizes(narrow, 1, {3, 4, 5}, {0, 0, 0}, {0, 0, 0}, {1, 2, 2}));
  check_transposed<coprime>(transposed_sizes(coprime, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
  check_transposed<common>(transposed_sizes(common, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
  check_transposed<stride_one>(transposed_sizes(stride_one, 2, {3, 4, 5}, {0, 1, 2}, {1, 1, 0}));
  check_transposed<stride_one>(transposed_sizes(stride_one, 1, {4, 3, 5}, {-2, 3, 0}, {1, -1, 2}));
  check_transposed<far>(transposed_sizes(far, 1, {1, 2, 30}, {0, 0, 5}, {0, 0, 0}));
}

TEST(ISA_SUITE(GroupedConvolution), SeveralBandsAndRanges) {
  constexpr ConvShape shape = in_groups(5, 3, 2, cube);
  const ConvSizes sizes = conv_sizes(shape, 1, {26, 40, 150}, {1, 1, 1}, {1, 1, 1});
  const GroupedGeometry geometry = grouped_geometry({shape, lanes}, false, sizes);
  ASSERT_GT(geometry.bands, 1);
  ASSERT_GT(geometry.ranges, 1);
  check<shape>(sizes);
}

TEST(ISA_SUITE(GroupedConvolution), HalfTypesAreComputedInFloat) {
  constexpr ConvShape plain = in_groups(9, 3, 5, {1, 3, 3}), depthwise = in_groups(lanes + 1, 1, 1, cube, twos);
  const ConvSizes sizes = conv_sizes(plain, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  const ConvSizes transposed = transposed_sizes(depthwise, 1, {2, 3, lanes + 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1});
  check<plain, bfloat16_t, float>(sizes);
  check<plain, float, float16_t>(sizes);  // integers up to 2048 are exact
  check_transposed<depthwise, float16_t, float>(transposed);
  check_transposed<depthwise, float, bfloat16_t>(transposed, {.tolerance = 0.5});  // sums below 256
}

// Every channel of one group is NaN or an infinity: the others do not see it.
TEST(ISA_SUITE(GroupedConvolution), NothingCrossesBetweenGroups) {
  constexpr ConvShape senet = in_groups(lanes / 2, 2, 4, {1, 3, 3}), odd = in_groups(9, 3, 5, {1, 3, 3});
  constexpr ConvShape up = in_groups(9, 3, 3, {1, 3, 3}, {1, 2, 2}),
                      depthwise = in_groups(9, 1, 1, {1, 3, 3}, {1, 2, 2});
  const ConvSizes of_senet = conv_sizes(senet, 1, {2, 3, lanes}, {0, 1, 1}, {0, 1, 1});
  const ConvSizes of_odd = conv_sizes(odd, 1, {2, 3, lanes}, {0, 1, 1}, {0, 1, 1});
  const ConvSizes of_up = transposed_sizes(up, 1, {2, 3, lanes}, {0, 1, 1}, {0, 1, 1});
  const ConvSizes of_depthwise = transposed_sizes(depthwise, 1, {2, 3, lanes}, {0, 1, 1}, {0, 1, 1});
  for (const int64_t group : {0, 3}) {
    check<senet>(of_senet, not_finite_in_group(senet, of_senet, group));
    check<odd>(of_odd, not_finite_in_group(odd, of_odd, group));
    check_transposed<up>(of_up, not_finite_in_group(up, of_up, group));
    check_transposed<depthwise>(of_depthwise, not_finite_in_group(depthwise, of_depthwise, group));
  }
}

TEST(ISA_SUITE(GroupedConvolution), RandomValues) {
  // 81 products of normals, each sum below 60: 81 roundings of half a unit of 2^-18 at most.
  constexpr ConvShape shape = in_groups(9, 3, 5, cube);
  check<shape>(conv_sizes(shape, 1, {5, 6, 17}, {1, 1, 1}, {1, 1, 1}),
               {.fill = fill_with_normals, .tolerance = 81 * 0x1p-19});
}

TEST(ISA_SUITE(GroupedConvolution), NothingToDo) {
  constexpr ConvShape shape = in_groups(9, 3, 5, {1, 1, 1});
  EXPECT_EQ(grouped_geometry({shape, lanes}, false, conv_sizes(shape, 1, {0, 4, 4}, {}, {})).work.tasks, 0);
  EXPECT_EQ(grouped_geometry({shape, lanes}, true, conv_sizes(shape, 0, {4, 4, 4}, {}, {})).work.tasks, 0);
}

TEST(ISA_SUITE(GroupedConvolution), SupportsGroupsOfLessThanTwoVectorsOfOutputs) {
  EXPECT_TRUE(grouped_supports(in_groups(4, 3, 5, {1, 1, 1}), lanes));
  EXPECT_TRUE(grouped_supports(in_groups(4, 64, 2 * lanes - 1, {1, 1, 1}), lanes));
  EXPECT_FALSE(grouped_supports(in_groups(4, 3, 2 * lanes, {1, 1, 1}), lanes));
  EXPECT_FALSE(grouped_supports(in_groups(1, 3, 5, {1, 1, 1}), lanes));
}

}  // namespace
}  // namespace onnxc::kernels
