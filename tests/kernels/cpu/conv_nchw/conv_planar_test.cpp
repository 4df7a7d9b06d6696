#include "kernels/cpu/conv_nchw/conv_planar.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv_nchw/conv_planar_packing.h"
#include "kernels/cpu/conv_nchw/conv_rows_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// The input is dense and of exactly its size, so that the address sanitizer sees a read outside it.
template <ConvShape shape, int spatial_axes = 3, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  const std::vector<Input> input(operands.input.values.begin(), operands.input.values.end());
  using Kernel = PlanarConvolution<shape, Input, Output, AddPlace<Output, spatial_axes>, spatial_axes>;
  run_and_compare_rows<Kernel, Input, Output, spatial_axes>(
      operands, reference_convolution(shape, sizes, operands.input, operands.weights), input.data(),
      dense_view(shape.input_channels, sizes.input, 1), pack_planar_weights(shape, operands.weights), trial);
}

template <int64_t inputs, int64_t outputs>
void check_widths() {
  constexpr ConvShape shape{.input_channels = inputs, .output_channels = outputs, .kernel = {3, 3, 3}};
  constexpr int64_t tile = planar_vectors(outputs, lanes) * lanes;
  for (int64_t width : {int64_t{1}, int64_t{2}, int64_t{lanes - 1}, int64_t{lanes}, int64_t{lanes + 1},
                        int64_t{2 * lanes - 3}, int64_t{3 * lanes}, tile - 1, tile, tile + 1, 2 * tile + lanes + 1})
    check<shape>(conv_sizes(shape, 1, {3, 4, width}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(PlanarConvolution), EveryNumberOfOutputChannelsAndWidthAroundTheTile) {
  check_widths<3, 3>();
  check_widths<1, 1>();
  check_widths<2, 4>();
  check_widths<4, 2>();
}

TEST(ISA_SUITE(PlanarConvolution), OddKernelsPadsDilationStridesAndCrop) {
  constexpr ConvShape shape{
      .input_channels = 2, .output_channels = 3, .kernel = {2, 3, 4}, .stride = {2, 3, 1}, .dilation = {1, 2, 3}};
  check<shape>(conv_sizes(shape, 2, {6, 19, 41}, {1, -1, 4}, {0, 3, -2}));
}

TEST(ISA_SUITE(PlanarConvolution), ManyTasks) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 2, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 2, {2, 90, 33}, {0, 1, 1}, {0, 1, 1});
  ASSERT_GT(planar_geometry(shape, sizes, lanes).bands, 1);
  check<shape>(sizes);
}

TEST(ISA_SUITE(PlanarConvolution), OneAndTwoSpatialAxes) {
  constexpr ConvShape flat{.input_channels = 3, .output_channels = 3, .kernel = {1, 3, 3}};
  check<flat, 2>(conv_sizes(flat, 2, {1, 5, 37}, {0, 1, 1}, {0, 1, 1}));
  constexpr ConvShape line{.input_channels = 2, .output_channels = 4, .kernel = {1, 1, 5}};
  check<line, 1>(conv_sizes(line, 3, {1, 1, 53}, {0, 0, 2}, {0, 0, 2}));
}

TEST(ISA_SUITE(PlanarConvolution), HalfTypes) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 3, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 21}, {0, 1, 1}, {0, 1, 1});
  check<shape, 3, float16_t, float>(sizes);
  check<shape, 3, bfloat16_t, float>(sizes);
  // Integers below 256 are exact in bfloat16 too, but the sums here are larger: float16 holds them.
  check<shape, 3, float, float16_t>(sizes);
}

// 81 products of normally distributed values and their sum, each within a rounding of float of the largest partial sum.
TEST(ISA_SUITE(PlanarConvolution), RandomValues) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 3, .kernel = {3, 3, 3}};
  check<shape>(conv_sizes(shape, 1, {4, 5, 50}, {1, 1, 1}, {1, 1, 1}), {fill_with_normals, 81 * 2e-6});
}

}  // namespace
}  // namespace onnxc::kernels
