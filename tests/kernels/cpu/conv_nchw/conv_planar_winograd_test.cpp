#include "kernels/cpu/conv_nchw/conv_planar_winograd.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_nchw/conv_rows_harness.h"
#include "kernels/cpu/conv_nchw/conv_stem_winograd_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The input is dense and of exactly its size, so that the address sanitizer sees a read outside it. Transformed weights
// of small integers are multiples of 1/4 and all sums stay below 2^21, so that they are exact.
template <ConvShape shape, int spatial_axes = 3, class Input = float, class Output = float, int64_t row_width = 0>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  std::vector<Input> input;
  for (float value : operands.input.values) input.push_back(Input(value));
  const PlainTensor expected = reference_convolution(shape, sizes, operands.input, operands.weights);
  const std::vector<float> packed = pack_stem_winograd_weights(planar_winograd_packing(shape, lanes), operands.weights);
  const auto run = [&]<class Epilogue>() {
    using Kernel = PlanarWinogradConvolution<shape, Input, Output, Epilogue, spatial_axes, row_width>;
    run_and_compare_rows<Kernel, Input, Output, spatial_axes, Epilogue>(
        operands, expected, input.data(), dense_view(shape.input_channels, sizes.input, 1), packed, trial);
  };
  run.template operator()<AddPlace<Output, spatial_axes>>();
  run.template operator()<LightAddPlace<Output, spatial_axes>>();
}

template <int64_t inputs, int64_t outputs>
void check_widths() {
  constexpr ConvShape shape{.input_channels = inputs, .output_channels = outputs, .kernel = {3, 3, 3}};
  constexpr int64_t tile = planar_winograd_tile(outputs, lanes).vectors * lanes;
  for (int64_t width : {int64_t{1}, int64_t{2}, int64_t{lanes - 1}, int64_t{lanes}, int64_t{lanes + 1},
                        int64_t{2 * lanes - 3}, int64_t{3 * lanes}, tile - 1, tile, tile + 1, 2 * tile + lanes + 1})
    check<shape>(conv_sizes(shape, 1, {3, 4, width}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(PlanarWinogradConvolution), EveryNumberOfOutputChannelsAndWidthAroundTheTile) {
  check_widths<1, 1>();
  check_widths<4, 2>();
  check_widths<3, 3>();
  check_widths<2, 4>();
  check_widths<1, 5>();
  check_widths<2, 7>();
}

// With no other register tiles than the width needs; many input channels make segments short.
TEST(ISA_SUITE(PlanarWinogradConvolution), KnownWidths) {
  const auto run = [&]<int64_t inputs, int64_t... vectors>() {
    constexpr ConvShape shape{.input_channels = inputs, .output_channels = 4, .kernel = {1, 3, 3}};
    (check<shape, 3, float, float, vectors * lanes - 3>(
         conv_sizes(shape, 1, {2, 3, vectors * lanes - 3}, {0, 1, 1}, {0, 1, 1})),
     ...);
  };
  run.template operator()<1, 1, 2, 4, 5, 7>();
  run.template operator()<40, 4, 7, 10>();
}

TEST(ISA_SUITE(PlanarWinogradConvolution), FlatKernelOnOneChannel) {
  constexpr ConvShape shape{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
  check<shape>(conv_sizes(shape, 1, {10, 11, 13}, {4, 4, 0}, {4, 4, 0}));
  check<shape>(conv_sizes(shape, 2, {3, 1, 40}, {4, 4, 0}, {4, 4, 0}));  // whole pieces lie in the padding
}

TEST(ISA_SUITE(PlanarWinogradConvolution), EveryLengthAndStrideOfAFilter) {
  const auto run = [&]<int64_t taps, int64_t stride>() {
    constexpr ConvShape along_depth{
        .input_channels = 2, .output_channels = 3, .kernel = {taps, 1, 1}, .stride = {stride, 1, 1}};
    constexpr ConvShape along_height{
        .input_channels = 2, .output_channels = 3, .kernel = {1, taps, 1}, .stride = {1, stride, 1}};
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

TEST(ISA_SUITE(PlanarWinogradConvolution), OddKernelsPadsDilationStridesAndCrop) {
  constexpr ConvShape shape{
      .input_channels = 4, .output_channels = 9, .kernel = {2, 3, 4}, .stride = {1, 2, 1}, .dilation = {2, 1, 3}};
  check<shape>(conv_sizes(shape, 2, {6, 9, 41}, {1, -1, 4}, {0, 3, -2}));
  check<shape>(conv_sizes(shape, 1, {3, 5, 10}, {5, 7, 9}, {4, 6, 2}));
}

TEST(ISA_SUITE(PlanarWinogradConvolution), SeveralSegmentsBandsAndTasks) {
  constexpr ConvShape shape{.input_channels = 4, .output_channels = 6, .kernel = {3, 5, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {4, 40, 8 * lanes + 3}, {1, 2, 1}, {1, 2, 1});
  const PlanarWinogradGeometry geometry = planar_winograd_geometry(shape, sizes, lanes);
  ASSERT_GT(geometry.input.bands, 1);
  ASSERT_LT(geometry.segment_vectors * lanes, sizes.output.w);
  check<shape>(sizes);
}

TEST(ISA_SUITE(PlanarWinogradConvolution), OneAndTwoSpatialAxes) {
  constexpr ConvShape flat{.input_channels = 3, .output_channels = 8, .kernel = {1, 3, 3}};
  check<flat, 2>(conv_sizes(flat, 2, {1, 5, 37}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(PlanarWinogradConvolution), HalfTypes) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 5, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 21}, {0, 1, 1}, {0, 1, 1});
  check<shape, 3, float16_t, float>(sizes);
  check<shape, 3, bfloat16_t, float>(sizes);
  // Integers below 256 are exact in bfloat16 too, but the sums here are larger: float16 holds them.
  check<shape, 3, float, float16_t>(sizes);
}

TEST(ISA_SUITE(PlanarWinogradConvolution), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape flat{.input_channels = 1, .output_channels = 6, .kernel = {5, 4, 1}};
  constexpr ConvShape strided{
      .input_channels = 2, .output_channels = 3, .kernel = {1, 7, 3}, .stride = {1, 2, 1}, .dilation = {1, 1, 2}};
  const Trial trial{.fill = fill_with_some_not_finite};
  check<flat>(conv_sizes(flat, 2, {7, 6, 19}, {2, 1, 0}, {2, 2, 0}), trial);
  check<strided>(conv_sizes(strided, 1, {2, 13, 21}, {0, 3, 2}, {0, 3, 2}), trial);
}

// The error of a sum of 81 products is that of the direct sum: some units in the last place of the largest output. The
// epilogue's sums round three times below 512.
TEST(ISA_SUITE(PlanarWinogradConvolution), RandomValues) {
  constexpr ConvShape shape{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
  check<shape>(conv_sizes(shape, 1, {12, 12, 40}, {4, 4, 0}, {4, 4, 0}),
               {.fill = fill_with_normals, .tolerance = 81 * 6e-8 * 4 + 3 * 1.6e-5});
}

TEST(ISA_SUITE(PlanarWinogradConvolution), Supports) {
  EXPECT_TRUE(planar_winograd_supports({.input_channels = 1, .output_channels = 5, .kernel = {9, 9, 1}}));
  EXPECT_TRUE(
      planar_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {1, 7, 7}, .stride = {1, 2, 1}}));
  EXPECT_FALSE(
      planar_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {1, 7, 7}, .stride = {1, 2, 2}}));
  EXPECT_FALSE(planar_winograd_supports({.input_channels = 3, .output_channels = 5, .kernel = {1, 1, 7}}));
  EXPECT_FALSE(planar_winograd_supports({.input_channels = 2, .output_channels = 4, .groups = 2, .kernel = {3, 3, 3}}));
}

}  // namespace
}  // namespace onnxc::kernels
