#include "kernels/cpu/conv_nchw/conv_to_rows.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_nchw/conv_rows_harness.h"
#include "kernels/cpu/conv_nchw/conv_to_rows_packing.h"
#include "kernels/cpu/conv_transpose/conv_transpose_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The input is a view with gaps of NaN, and so is the output.
template <ConvShape shape, bool is_transposed, int spatial_axes = 3, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  auto& reference = is_transposed ? reference_transposed : reference_convolution;
  const Operands operands(shape, sizes, trial, reference);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  using Kernel = ConvolutionToRows<shape, Input, Output, AddPlace<Output, spatial_axes>, is_transposed, spatial_axes>;
  run_and_compare_rows<Kernel, Input, Output, spatial_axes>(
      operands, reference(shape, sizes, operands.input, operands.weights), input.data(), input.view,
      pack_to_rows_weights({shape, is_transposed}, operands.weights), trial);
}

template <int64_t inputs, int64_t outputs>
void check_widths() {
  constexpr ConvShape shape{.input_channels = inputs, .output_channels = outputs, .kernel = {3, 3, 3}};
  constexpr ConvShape doubled{
      .input_channels = inputs, .output_channels = outputs, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr int64_t tile = planar_vectors(outputs, lanes) * lanes;
  for (int64_t width : {int64_t{1}, int64_t{2}, int64_t{lanes - 1}, int64_t{lanes}, int64_t{lanes + 1},
                        int64_t{2 * lanes - 3}, tile - 1, tile, tile + 1}) {
    check<shape, false>(conv_sizes(shape, 1, {2, 3, width}, {1, 1, 1}, {1, 1, 1}));
    check<doubled, true>(transposed_sizes(doubled, 1, {2, 3, width}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  }
}

TEST(ISA_SUITE(ConvolutionToRows), EveryNumberOfOutputChannelsAndWidthAroundTheTile) {
  check_widths<lanes + 3, 1>();
  check_widths<2 * lanes, 2>();
  check_widths<5, 3>();
  check_widths<lanes, 4>();
}

TEST(ISA_SUITE(ConvolutionToRows), OneTapOverLongRows) {
  constexpr ConvShape shape{.input_channels = lanes, .output_channels = 3};
  for (const int64_t width : {255, 256, 257, 1025})
    check<shape, false>(conv_sizes(shape, 2, {1, 1, width}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape wide{.input_channels = lanes + 1, .output_channels = 2, .kernel = {1, 1, 3}};
  check<wide, false>(conv_sizes(wide, 1, {1, 1, 600}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(ConvolutionToRows), OneTapOverShortRowsWithPads) {
  constexpr ConvShape shape{.input_channels = lanes + 2, .output_channels = 3};
  check<shape, false>(conv_sizes(shape, 2, {5, 9, 11}, {0, 0, 0}, {0, 0, 0}));
  check<shape, false>(conv_sizes(shape, 1, {3, 4, 29}, {1, -1, 2}, {0, 2, -3}));
  // One row or many: as many tasks.
  EXPECT_EQ(
      to_rows_geometry({shape, false}, conv_sizes(shape, 2, {5, 9, 11}, {0, 0, 0}, {0, 0, 0}), lanes).work.tasks,
      to_rows_geometry({shape, false}, conv_sizes(shape, 2, {1, 1, 495}, {0, 0, 0}, {0, 0, 0}), lanes).work.tasks);
}

TEST(ISA_SUITE(ConvolutionToRows), OddKernelsPadsAndCrops) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 3, .kernel = {2, 3, 4}};
  check<shape, false>(conv_sizes(shape, 2, {4, 5, 41}, {1, -1, 4}, {0, 3, -2}));
  constexpr ConvShape wide{.input_channels = 5, .output_channels = 1, .kernel = {4, 5, 6}, .stride = {2, 3, 2}};
  check<wide, true>(transposed_sizes(wide, 1, {3, 4, 25}, {1, 0, 2}, {1, 2, 1}));
  check<wide, true>(transposed_sizes(wide, 2, {4, 4, 5}, {3, 4, -1}, {1, 0, 0}));
  constexpr ConvShape three{.input_channels = 5, .output_channels = 4, .kernel = {1, 2, 5}, .stride = {1, 1, 3}};
  check<three, true>(transposed_sizes(three, 1, {2, 3, 20}, {0, 0, 1}, {0, 0, 2}));
}

// Outputs between the taps get the epilogue of zero.
TEST(ISA_SUITE(ConvolutionToRows), KernelsNarrowerThanTheStrideAndEqualToIt) {
  constexpr ConvShape narrow{.input_channels = 3, .output_channels = 2, .kernel = {1, 2, 1}, .stride = {2, 3, 3}};
  check<narrow, true>(transposed_sizes(narrow, 1, {3, 4, 19}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape equal{.input_channels = lanes, .output_channels = 2, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check<equal, true>(transposed_sizes(equal, 1, {2, 3, 21}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape flipped{.input_channels = 7, .output_channels = 3, .kernel = {2, 3, 4}};
  check<flipped, true>(transposed_sizes(flipped, 1, {3, 4, 25}, {0, 1, 2}, {1, 1, 0}));
}

TEST(ISA_SUITE(ConvolutionToRows), ManyTasks) {
  constexpr ConvShape shape{.input_channels = 4 * lanes, .output_channels = 3, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 2, {2, 70, 33}, {0, 1, 1}, {0, 1, 1});
  ASSERT_GT(to_rows_geometry({shape, false}, sizes, lanes).bands, 1);
  check<shape, false>(sizes);
}

// Blocks of channels by planes of the input, each for several planes of the output.
TEST(ISA_SUITE(ConvolutionToRows), RangesOfPlanes) {
  constexpr ConvShape shape{.input_channels = 2 * lanes + 3, .output_channels = 3, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 2, {11, 30, 19}, {1, 1, 1}, {1, 1, 1});
  const RowsGeometry geometry = to_rows_geometry({shape, false}, sizes, lanes);
  ASSERT_GT(geometry.range_planes, 1);
  ASSERT_GT(geometry.ranges * geometry.range_planes, geometry.size.d);  // the last one has fewer
  check<shape, false>(sizes);
  constexpr ConvShape doubled{
      .input_channels = lanes + 1, .output_channels = 2, .kernel = {3, 4, 3}, .stride = {2, 2, 2}};
  const ConvSizes larger = transposed_sizes(doubled, 1, {11, 31, 19}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1});
  ASSERT_GT(to_rows_geometry({doubled, true}, larger, lanes).range_planes, 1);
  check<doubled, true>(larger);
}

TEST(ISA_SUITE(ConvolutionToRows), OneAndTwoSpatialAxes) {
  constexpr ConvShape flat{.input_channels = 9, .output_channels = 3, .kernel = {1, 3, 3}, .stride = {1, 2, 2}};
  check<flat, true, 2>(transposed_sizes(flat, 2, {1, 5, 37}, {0, 1, 1}, {0, 1, 1}));
  constexpr ConvShape line{.input_channels = 6, .output_channels = 4, .kernel = {1, 1, 5}};
  check<line, false, 1>(conv_sizes(line, 3, {1, 1, 53}, {0, 0, 2}, {0, 0, 2}));
}

TEST(ISA_SUITE(ConvolutionToRows), EmptyTensors) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 3, .kernel = {1, 3, 3}};
  check<shape, false>(conv_sizes(shape, 0, {2, 5, 21}, {0, 1, 1}, {0, 1, 1}));
  check<shape, false>(conv_sizes(shape, 1, {0, 5, 21}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(ConvolutionToRows), HalfTypes) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 3, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 21}, {0, 1, 1}, {0, 1, 1});
  check<shape, false, 3, float16_t, float>(sizes);
  check<shape, false, 3, bfloat16_t, float>(sizes);
  check<shape, false, 3, float, float16_t>(sizes);
}

TEST(ISA_SUITE(ConvolutionToRows), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check<shape, true>(transposed_sizes(shape, 1, {4, 5, 6}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}),
                     {.fill = fill_with_nan_and_infinity});
  constexpr ConvShape forward{.input_channels = 5, .output_channels = 3, .kernel = {3, 3, 3}};
  check<forward, false>(conv_sizes(forward, 1, {4, 5, 20}, {1, 1, 1}, {1, 1, 1}), {.fill = fill_with_nan_and_infinity});
}

// 27 chains of 40 products of normally distributed values, each within a rounding of float of the largest partial sum.
TEST(ISA_SUITE(ConvolutionToRows), RandomValuesInSeveralChains) {
  constexpr ConvShape shape{.input_channels = 40, .output_channels = 3, .kernel = {3, 3, 3}};
  check<shape, false>(conv_sizes(shape, 1, {3, 4, 37}, {1, 1, 1}, {1, 1, 1}), {fill_with_normals, 40 * 27 * 2e-6});
}

TEST(ISA_SUITE(ConvolutionToRows), TakesFewOutputChannels) {
  const auto takes = [](const ConvShape& shape, bool is_transposed) {
    return to_rows_supports({shape, is_transposed}, lanes);
  };
  EXPECT_TRUE(takes({.input_channels = 32, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}, true));
  EXPECT_TRUE(takes({.input_channels = 32, .output_channels = 4}, false));
  EXPECT_FALSE(takes({.input_channels = 32, .output_channels = 5}, false));
  EXPECT_FALSE(takes({.input_channels = 32, .output_channels = 2, .stride = {1, 2, 1}}, false));
  EXPECT_FALSE(takes({.input_channels = 32, .output_channels = 2, .dilation = {1, 2, 1}}, true));
  EXPECT_FALSE(takes({.input_channels = 32, .output_channels = 4, .groups = 2}, false));
  EXPECT_FALSE(takes({.input_channels = 32, .output_channels = 4, .kernel = {1, 1, 8}, .stride = {1, 1, 8}}, true));
}

}  // namespace
}  // namespace onnxc::kernels
