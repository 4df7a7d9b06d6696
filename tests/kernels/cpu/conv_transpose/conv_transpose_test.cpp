#include "kernels/cpu/conv_transpose/conv_transpose.h"

#include <gtest/gtest.h>

#include "kernels/cpu/conv/groups_harness.h"
#include "kernels/cpu/conv_transpose/conv_transpose_harness.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packed.h"
#include "kernels/cpu/conv_transpose/conv_transpose_packing.h"
#include "kernels/cpu/isa_suite.h"
#include "kernels/cpu/with_light_epilogue.h"

namespace onnxc::kernels {
namespace {

// Compares a kernel with the definition for one shape and size, with every operand a view with gaps.
template <template <ConvShape, class, class, class> class Kernel, ConvShape shape, class Input, class Output>
void check_kernel(const ConvSizes& sizes, const Trial& trial, decltype(pack_transposed_weights)& pack) {
  const Operands operands(shape, sizes, trial, reference_transposed);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  run_and_compare<Kernel<shape, Input, Output, PositionEpilogue<Output>>, Input, Output>(
      operands, input.data(), input.view, pack(shape, lanes, operands.weights), trial);
}

template <ConvShape shape, class Input, class Output, class Epilogue>
using LightTransposedConvolution = WithLightEpilogue<TransposedConvolution, shape, Input, Output>;

template <ConvShape shape, class Input = float, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<TransposedConvolution, shape, Input, Output>(sizes, trial, pack_transposed_weights);
  check_kernel<LightTransposedConvolution, shape, Input, Output>(sizes, trial, pack_transposed_weights);
}

template <ConvShape shape, class Input = float, class Output = float>
void check_packed(const ConvSizes& sizes, const Trial& trial = {}) {
  check_kernel<PackedTransposedConvolution, shape, Input, Output>(sizes, trial, pack_packed_transposed_weights);
}

TEST(ISA_SUITE(PackedTransposedConvolution), LastLayersOfSegmentationNetworks) {
  constexpr ConvShape unet{.input_channels = lanes + 3, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape equal{.input_channels = lanes, .output_channels = 2, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check_packed<unet>(transposed_sizes(unet, 2, {3, 4, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
  for (int64_t width = 1; width <= 15; ++width)
    check_packed<equal>(transposed_sizes(equal, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(PackedTransposedConvolution), NearlyABlockOfOutputChannels) {
  constexpr ConvShape whole{
      .input_channels = 2 * lanes, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  constexpr ConvShape most{
      .input_channels = lanes + 3, .output_channels = lanes - 3, .kernel = {1, 4, 4}, .stride = {1, 2, 2}};
  for (int64_t width = 1; width <= 15; ++width)
    check_packed<whole>(transposed_sizes(whole, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
  check_packed<most>(transposed_sizes(most, 2, {2, 5, 14}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(PackedTransposedConvolution), PadsStridesAndKernelsThatDiffer) {
  constexpr ConvShape wide{.input_channels = 5, .output_channels = 1, .kernel = {4, 5, 6}, .stride = {2, 3, 2}};
  check_packed<wide>(transposed_sizes(wide, 1, {3, 4, 5}, {1, 0, 2}, {1, 2, 1}));
  check_packed<wide>(transposed_sizes(wide, 1, {4, 4, 5}, {3, 4, -1}, {1, 0, 0}));
  constexpr ConvShape plane{.input_channels = 4, .output_channels = 4, .kernel = {1, 4, 4}, .stride = {1, 2, 2}};
  check_packed<plane>(transposed_sizes(plane, 1, {3, 4, 9}, {0, 1, 1}, {0, 1, 1}));
  check_packed<plane, bfloat16_t, float>(transposed_sizes(plane, 1, {1, 4, 9}, {0, 1, 1}, {0, 1, 1}));
}

TEST(ISA_SUITE(PackedTransposedConvolution), NotFiniteReachesTheOutputsThatReadItAlone) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check_packed<shape>(transposed_sizes(shape, 1, {4, 5, 6}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}),
                      {.fill = fill_with_some_not_finite});
}

TEST(ISA_SUITE(PackedTransposedConvolution), TakesWhatItSpeedsUp) {
  EXPECT_TRUE(packs_transposed(
      {.input_channels = 32, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}}, lanes));
  EXPECT_FALSE(packs_transposed(
      {.input_channels = 32, .output_channels = 2 * lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}}, lanes));
  EXPECT_TRUE(
      packs_transposed({.input_channels = 32, .output_channels = 3, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}, lanes));
  EXPECT_FALSE(packs_transposed(
      {.input_channels = 32, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}}, lanes));
  EXPECT_FALSE(packs_transposed({.input_channels = 32, .output_channels = 3, .kernel = {3, 3, 3}}, lanes));
}

TEST(ISA_SUITE(TransposedConvolution), KernelEqualToStride) {
  constexpr ConvShape shape{
      .input_channels = lanes + 3, .output_channels = 2 * lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  for (int64_t width = 1; width <= 15; ++width)
    check<shape>(transposed_sizes(shape, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape mixed{
      .input_channels = lanes, .output_channels = lanes - 5, .kernel = {1, 2, 4}, .stride = {1, 2, 4}};
  check<mixed>(transposed_sizes(mixed, 2, {3, 5, 7}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), KernelsWiderAndNarrowerThanTheStride) {
  constexpr ConvShape wide{.input_channels = 5, .output_channels = lanes, .kernel = {3, 4, 5}, .stride = {2, 3, 2}};
  check<wide>(transposed_sizes(wide, 1, {3, 4, 5}, {1, 1, 2}, {1, 0, 1}));
  // Outputs between the taps get the epilogue of zero.
  constexpr ConvShape narrow{.input_channels = 3, .output_channels = lanes, .kernel = {1, 2, 1}, .stride = {2, 3, 3}};
  check<narrow>(transposed_sizes(narrow, 1, {3, 4, 5}, {0, 0, 0}, {0, 0, 0}));
}

// Tiles inside a row, at its ends and across two, with pads and crops.
TEST(ISA_SUITE(TransposedConvolution), EveryWidthAroundTheTile) {
  constexpr ConvShape shape{
      .input_channels = lanes + 3, .output_channels = 2 * lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  for (int64_t width = 1; width <= 2 * lanes + 1; ++width) {
    check<shape>(transposed_sizes(shape, 1, {2, 3, width}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
    check<shape>(transposed_sizes(shape, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
  }
  constexpr ConvShape odd{.input_channels = 4,
                          .output_channels = 3 * lanes,
                          .kernel = {2, 3, 5},
                          .stride = {3, 2, 2},
                          .dilation = {1, 3, 3}};
  for (int64_t width = 2 * lanes; width <= 2 * lanes + 6; ++width) {
    check<odd>(transposed_sizes(odd, 1, {2, 3, width}, {1, -1, -2}, {1, 2, -3}));
    check<odd>(transposed_sizes(odd, 2, {2, 3, width}, {0, 3, 7}, {-1, 0, 9}));
  }
}

TEST(ISA_SUITE(TransposedConvolution), SeveralPassesKeepPartialSums) {
  constexpr ConvShape shape{
      .input_channels = 72 * lanes, .output_channels = 2 * lanes, .kernel = {4, 3, 4}, .stride = {2, 2, 2}};
  const ConvSizes sizes = transposed_sizes(shape, 1, {2, 2, 2 * lanes}, {1, 1, 1}, {1, 1, 1});
  ASSERT_GT((TransposedConvolution<shape, float, float, NoEpilogue>::work(sizes).scratch_bytes), 0);
  check<shape>(sizes);
}

TEST(ISA_SUITE(TransposedConvolution), Dilation) {
  constexpr ConvShape coprime{
      .input_channels = 4, .output_channels = lanes, .kernel = {2, 3, 4}, .stride = {2, 3, 2}, .dilation = {3, 2, 3}};
  check<coprime>(transposed_sizes(coprime, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
  constexpr ConvShape common{
      .input_channels = 4, .output_channels = lanes, .kernel = {3, 2, 3}, .stride = {2, 4, 6}, .dilation = {2, 6, 4}};
  check<common>(transposed_sizes(common, 1, {3, 4, 5}, {1, 2, 3}, {2, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), OutputPaddingAndPadsOfEitherSign) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  check<shape>(transposed_sizes(shape, 1, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}));
  check<shape>(transposed_sizes(shape, 2, {4, 3, 5}, {-2, 3, 0}, {1, -1, 2}, {0, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), StrideOneFlipsTheKernel) {
  constexpr ConvShape shape{.input_channels = 2, .output_channels = lanes, .kernel = {2, 3, 4}};
  check<shape>(transposed_sizes(shape, 1, {3, 4, 5}, {0, 1, 2}, {1, 1, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), GroupsOfWholeBlocks) {
  constexpr ConvShape shape{
      .input_channels = 4 * lanes, .output_channels = 2 * lanes, .groups = 2, .kernel = {1, 2, 3}, .stride = {1, 2, 2}};
  check<shape>(transposed_sizes(shape, 2, {2, 3, 4}, {0, 0, 1}, {0, 0, 0}));
  check<shape>(transposed_sizes(shape, 2, {2, 3, 2 * lanes}, {0, 0, 1}, {0, 0, 0}));
}

// Groups that begin at every lane of a block.
TEST(ISA_SUITE(TransposedConvolution), GroupsThatShareBlocks) {
  constexpr ConvShape equal{
      .input_channels = 24, .output_channels = 24, .groups = 2, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape more{.input_channels = 3 * lanes + 3,
                           .output_channels = 6 * lanes - 9,
                           .groups = 3,
                           .kernel = {2, 2, 2},
                           .stride = {2, 2, 2}};
  constexpr ConvShape fewer{.input_channels = 5 * lanes,
                            .output_channels = 35,
                            .groups = 5,
                            .kernel = {1, 3, 4},
                            .stride = {1, 2, 3},
                            .dilation = {1, 3, 2}};
  for (const int64_t width : {1, 5, 2 * lanes + 1}) {
    check<equal>(transposed_sizes(equal, 2, {2, 3, width}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}));
    check<more>(transposed_sizes(more, 1, {2, 3, width}, {0, 0, 0}, {0, 0, 0}));
    check<fewer>(transposed_sizes(fewer, 1, {2, 3, width}, {0, 1, 1}, {0, 0, 2}));
  }
  const ConvSizes sizes = transposed_sizes(equal, 1, {2, 3, 5}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1});
  for (int64_t group = 0; group < 2; ++group) check<equal>(sizes, not_finite_in_group(equal, sizes, group));
  check<equal, bfloat16_t, float>(sizes);
  check<equal, float, float16_t>(sizes);
}

TEST(ISA_SUITE(TransposedConvolution), HalfTypesAreComputedInFloat) {
  constexpr ConvShape shape{
      .input_channels = lanes, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check<shape, bfloat16_t, float>(transposed_sizes(shape, 1, {2, 3, 4}, {0, 0, 0}, {0, 0, 0}));
  check<shape, float, float16_t>(transposed_sizes(shape, 1, {2, 3, 4}, {0, 0, 0}, {0, 0, 0}));
}

TEST(ISA_SUITE(TransposedConvolution), RandomValues) {
  // Sums of 20 products of normals, below 32: 20 roundings of half a unit of 2^-19 at most.
  constexpr ConvShape shape{
      .input_channels = 20, .output_channels = 2 * lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  check<shape>(transposed_sizes(shape, 1, {5, 6, 7}, {0, 0, 0}, {0, 0, 0}),
               {.fill = fill_with_normals, .tolerance = 20 * 0x1p-20});
}

TEST(ISA_SUITE(TransposedConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = lanes, .kernel = {2, 2, 2}, .stride = {2, 2, 2}};
  using Kernel = TransposedConvolution<shape, float, float, NoEpilogue>;
  EXPECT_EQ(Kernel::work({1, {0, 4, 4}, {0, 8, 8}, {0, 0, 0}}).tasks, 0);
  EXPECT_EQ(Kernel::work({0, {4, 4, 4}, {8, 8, 8}, {0, 0, 0}}).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
