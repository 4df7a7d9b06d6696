#include "kernels/cpu/conv_nchw/conv_stem_winograd.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The input is a dense planar tensor of exactly its size, so that the address sanitizer sees a read outside it.
// Transformed weights of small integers are multiples of 1/4 and all sums stay below 2^21, so that they are exact.
template <ConvShape shape, class Input = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  std::vector<Input> input;
  for (float value : operands.input.values) input.push_back(Input(value));
  using Kernel = StemWinogradConvolution<shape, Input, float, PositionEpilogue<float>>;
  const std::vector<float> packed = pack_stem_winograd_weights({shape, lanes}, operands.weights);
  run_and_compare<Kernel, Input, float>(operands, input.data(), dense_view(shape.input_channels, sizes.input, 1),
                                        packed, trial);
}

TEST(ISA_SUITE(StemWinogradConvolution), FlatKernelOnOneChannel) {
  constexpr ConvShape shape{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
  check<shape>(conv_sizes(shape, 1, {10, 11, 13}, {4, 4, 0}, {4, 4, 0}));
  check<shape>(conv_sizes(shape, 2, {3, 1, 40}, {4, 4, 0}, {4, 4, 0}));  // whole pieces lie in the padding
}

TEST(ISA_SUITE(StemWinogradConvolution), StemsOfNetworks) {
  constexpr ConvShape c3d{.input_channels = 3, .output_channels = 4 * lanes, .kernel = {3, 3, 3}};
  constexpr ConvShape r3d{.input_channels = 3, .output_channels = 4 * lanes, .kernel = {3, 7, 7}, .stride = {1, 2, 2}};
  constexpr ConvShape densenet{
      .input_channels = 1, .output_channels = 3 * lanes, .kernel = {7, 7, 7}, .stride = {2, 2, 2}};
  check<c3d>(conv_sizes(c3d, 2, {3, 6, 17}, {1, 1, 1}, {1, 1, 1}));
  check<r3d>(conv_sizes(r3d, 1, {3, 14, 31}, {1, 3, 3}, {1, 3, 3}));
  check<densenet>(conv_sizes(densenet, 1, {13, 12, 21}, {3, 3, 3}, {3, 3, 3}));
}

TEST(ISA_SUITE(StemWinogradConvolution), EveryLengthAndStrideOfAFilter) {
  const auto run = [&]<int64_t taps, int64_t stride>() {
    constexpr ConvShape along_depth{
        .input_channels = 2, .output_channels = lanes, .kernel = {taps, 1, 1}, .stride = {stride, 1, 1}};
    constexpr ConvShape along_height{
        .input_channels = 2, .output_channels = lanes, .kernel = {1, taps, 1}, .stride = {1, stride, 1}};
    for (int64_t size = taps; size < taps + 5; ++size) {
      check<along_depth>(conv_sizes(along_depth, 1, {size, 3, 5}, {1, 0, 0}, {2, 0, 0}));
      check<along_height>(conv_sizes(along_height, 1, {3, size, 5}, {0, 1, 0}, {0, 2, 0}));
    }
  };
  run.template operator()<2, 1>();
  run.template operator()<3, 1>();
  run.template operator()<4, 1>();
  run.template operator()<5, 1>();
  run.template operator()<7, 1>();
  run.template operator()<3, 2>();
  run.template operator()<5, 2>();
  run.template operator()<8, 2>();
  run.template operator()<10, 3>();
}

TEST(ISA_SUITE(StemWinogradConvolution), EveryWidthAroundTheTile) {
  constexpr ConvShape one{.input_channels = 1, .output_channels = lanes - 3, .kernel = {1, 3, 2}};
  constexpr ConvShape two{.input_channels = 2, .output_channels = lanes + 5, .kernel = {3, 3, 1}};
  for (int64_t width = 2; width <= 30; ++width) {
    check<one>(conv_sizes(one, 1, {1, 4, width}, {0, 1, 0}, {0, 1, 0}));
    check<two>(conv_sizes(two, 1, {2, 3, width}, {1, 1, 0}, {1, 1, 0}));
  }
}

TEST(ISA_SUITE(StemWinogradConvolution), SeveralSegmentsBandsAndTasks) {
  constexpr ConvShape shape{.input_channels = 4, .output_channels = 2 * lanes, .kernel = {3, 5, 1}};
  const ConvSizes sizes = conv_sizes(shape, 1, {4, 40, 130}, {1, 2, 0}, {1, 2, 0});
  const StemWinogradGeometry geometry = stem_winograd_geometry({shape, lanes}, sizes);
  ASSERT_GT(geometry.input.bands, 1);
  ASSERT_LT(geometry.segment_voxels, sizes.output.w);
  check<shape>(sizes);
}

TEST(ISA_SUITE(StemWinogradConvolution), OddChannelsPadsDilationAndCrop) {
  constexpr ConvShape shape{.input_channels = 4,
                            .output_channels = 3 * lanes - 2,
                            .kernel = {2, 3, 4},
                            .stride = {1, 2, 3},
                            .dilation = {2, 1, 3}};
  check<shape>(conv_sizes(shape, 1, {6, 9, 29}, {1, -1, 4}, {0, 3, -2}));
  check<shape>(conv_sizes(shape, 1, {3, 5, 10}, {5, 7, 9}, {4, 6, 2}));
}

TEST(ISA_SUITE(StemWinogradConvolution), HalfInput) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 2 * lanes, .kernel = {1, 3, 3}};
  check<shape, float16_t>(conv_sizes(shape, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check<shape, bfloat16_t>(conv_sizes(shape, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(StemWinogradConvolution), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape flat{.input_channels = 1, .output_channels = lanes, .kernel = {5, 4, 1}};
  constexpr ConvShape strided{
      .input_channels = 2, .output_channels = lanes + 2, .kernel = {1, 7, 3}, .stride = {1, 2, 2}};
  const Trial trial{.fill = fill_with_some_not_finite};
  check<flat>(conv_sizes(flat, 2, {7, 6, 9}, {2, 1, 0}, {2, 2, 0}), trial);
  check<strided>(conv_sizes(strided, 1, {2, 13, 9}, {0, 3, 1}, {0, 3, 1}), trial);
}

// The error of a sum of 81 products is that of the direct sum: some units in the last place of the largest output.
TEST(ISA_SUITE(StemWinogradConvolution), RandomValues) {
  constexpr ConvShape shape{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
  check<shape>(conv_sizes(shape, 1, {12, 12, 20}, {4, 4, 0}, {4, 4, 0}),
               {.fill = fill_with_normals, .tolerance = 81 * 6e-8 * 4});
}

TEST(ISA_SUITE(StemWinogradConvolution), CountsOfProducts) {
  EXPECT_EQ((StemWinogradAxis{9, 1, 1}).paired_products(), 12);
  EXPECT_EQ((StemWinogradAxis{7, 1, 1}).paired_products(), 10);
  EXPECT_EQ((StemWinogradAxis{7, 2, 1}).paired_products(), 10);
  EXPECT_EQ((StemWinogradAxis{9, 1, 1}).terms(), 12);
  EXPECT_EQ((StemWinogradAxis{5, 1, 2}).terms(), 5);
}

TEST(ISA_SUITE(StemWinogradConvolution), Supports) {
  EXPECT_TRUE(stem_winograd_supports({.input_channels = 1, .output_channels = 5, .kernel = {9, 9, 1}}));
  EXPECT_TRUE(
      stem_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {1, 7, 7}, .stride = {1, 2, 2}}));
  EXPECT_FALSE(stem_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {1, 1, 7}}));
  EXPECT_FALSE(
      stem_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {4, 4, 4}, .stride = {4, 4, 4}}));
  EXPECT_FALSE(stem_winograd_supports({.input_channels = 2, .output_channels = 4, .groups = 2, .kernel = {3, 3, 3}}));
}

}  // namespace
}  // namespace onnxc::kernels
