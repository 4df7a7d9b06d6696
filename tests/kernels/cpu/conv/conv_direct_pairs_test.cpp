// DirectConvolution with products of bfloat16 in pairs: on AVX512_BF16 by its instruction, elsewhere by two FMAs.
#include <gtest/gtest.h>

#include "kernels/cpu/conv/conv_direct.h"
#include "kernels/cpu/conv/conv_direct_packing.h"
#include "kernels/cpu/conv/conv_harness.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

template <ConvShape shape, class Output, class Epilogue>
using PairsConvolution = DirectConvolution<shape, bfloat16_t, Output, Epilogue, false, true>;

template <ConvShape shape, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  BlockedTensor<bfloat16_t> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  run_and_compare<PairsConvolution<shape, Output, PositionEpilogue<Output>>, bfloat16_t, Output>(
      operands, input.data(), input.view, pack_direct_pairs(shape, lanes, operands.weights), trial);
}

// Normally distributed numbers that bfloat16 holds.
void fill_with_bfloat16(std::vector<float>& values, uint32_t seed) {
  fill_with_normals(values, seed);
  for (float& value : values) value = static_cast<float>(bfloat16_t(value));
}

TEST(ISA_SUITE(DirectPairs), ChannelsThatFillNoPairAndEveryNumberOfOutputBlocks) {
  constexpr ConvShape one{.input_channels = lanes + 1, .output_channels = lanes - 3, .kernel = {3, 3, 3}};
  constexpr ConvShape two{.input_channels = 2 * lanes + 3, .output_channels = lanes + 1, .kernel = {1, 3, 3}};
  constexpr ConvShape three{.input_channels = lanes - 2, .output_channels = 3 * lanes - 1, .kernel = {3, 1, 2}};
  constexpr ConvShape four{.input_channels = 1, .output_channels = 4 * lanes, .kernel = {1, 1, 3}};
  check<one>(conv_sizes(one, 2, {4, 5, 7}, {1, 1, 1}, {1, 1, 1}));
  check<two>(conv_sizes(two, 2, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check<three>(conv_sizes(three, 1, {4, 5, 7}, {1, 0, 1}, {1, 0, 0}));
  check<four>(conv_sizes(four, 2, {2, 3, 7}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(DirectPairs), EveryWidthAroundTheTile) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 2 * lanes, .kernel = {1, 1, 3}};
  constexpr ConvShape pointwise{.input_channels = lanes + 5, .output_channels = 2 * lanes};
  for (int64_t width = 1; width <= 26; ++width) {
    check<shape>(conv_sizes(shape, 1, {1, 3, width}, {0, 0, 1}, {0, 0, 1}));
    check<pointwise>(conv_sizes(pointwise, 1, {1, 3, width}, {0, 0, 0}, {0, 0, 0}));
  }
}

TEST(ISA_SUITE(DirectPairs), StrideDilationGroupsAndSeveralPasses) {
  constexpr ConvShape strided{.input_channels = 6,
                              .output_channels = 2 * lanes,
                              .kernel = {3, 2, 3},
                              .stride = {2, 3, 2},
                              .dilation = {1, 2, 1}};
  check<strided>(conv_sizes(strided, 2, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  constexpr ConvShape groups{.input_channels = 4 * lanes, .output_channels = 6 * lanes, .groups = 2};
  check<groups>(conv_sizes(groups, 2, {1, 3, 29}, {0, 0, 0}, {0, 0, 0}));
  constexpr ConvShape deep{.input_channels = lanes == 16 ? 4200 : 8400, .output_channels = 2 * lanes};
  const ConvSizes sizes = conv_sizes(deep, 1, {1, 2, 20}, {0, 0, 0}, {0, 0, 0});
  ASSERT_GT((PairsConvolution<deep, float, NoEpilogue>::work(sizes).scratch_bytes), 0);
  check<deep>(sizes);
}

// The products of two numbers of 8 bits are exact in float32; each of the additions rounds by 2^-24 of a partial sum,
// which stays below 8 * sqrt(products).
TEST(ISA_SUITE(DirectPairs), RandomValuesWithinTheRoundingsOfTheSum) {
  constexpr ConvShape shape{.input_channels = 4 * lanes, .output_channels = 2 * lanes, .kernel = {1, 3, 3}};
  constexpr double products = 4.0 * lanes * 9;
  const double bound = products * 0x1p-24 * 8 * std::sqrt(products);
  check<shape>(conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}), {fill_with_bfloat16, bound});
}

TEST(ISA_SUITE(DirectPairs), StoresBfloat16) {
  constexpr ConvShape shape{.input_channels = lanes + 2, .output_channels = 2 * lanes + 3, .kernel = {1, 3, 3}};
  // Sums stay below 1024: half a unit of the last place is 2.
  check<shape, bfloat16_t>(conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}), {.tolerance = 2.0});
}

}  // namespace
}  // namespace onnxc::kernels
