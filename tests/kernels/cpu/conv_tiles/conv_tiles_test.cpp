// The convolution by tiles, on the emulation unless the tests are compiled for a machine with AMX.
#include "kernels/cpu/conv_tiles/conv_tiles.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Each task by itself, last first; every operand a view with gaps of NaN.
template <ConvShape shape, class Input = bfloat16_t, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  BlockedTensor<Output> residual(sizes.batch, shape.output_channels, sizes.output);
  BlockedTensor<Output> output(sizes.batch, shape.output_channels, sizes.output);
  residual.fill_from(operands.residual);
  const std::vector<uint16_t> packed = pack_tiles_weights(shape, operands.weights);
  const size_t bytes = packed.size() * sizeof(uint16_t);
  const std::unique_ptr<void, AlignedFree> weights = nan_scratch(static_cast<int64_t>(bytes));
  std::memcpy(weights.get(), packed.data(), bytes);
  using Kernel = TilesConvolution<shape, Input, Output, PositionEpilogue<Output>>;
  run_tasks_backwards<Kernel>(
      {input.data(), static_cast<const bfloat16_t*>(weights.get()), output.data(), sizes, input.view, output.view},
      PositionEpilogue<Output>{operands.bias.data(), residual.data()});
  output.expect_equal(operands.expected, trial.tolerance);
}

template <ConvShape shape, class Input>
void check_bytes(const ConvSizes& sizes, Input zero_point = Input(3)) {
  check_random_bytes<TilesConvolution<shape, Input, float, OfBytes, TilesOfBytes>, shape>(
      sizes, zero_point, [&](const std::vector<int8_t>& weights) {
        return pack_tiles_weights(shape, as_unsigned_zero(zero_point), weights);
      });
}

TEST(ISA_SUITE(TilesConvolution), EveryWidthAroundATile) {
  constexpr ConvShape shape{.input_channels = 5, .output_channels = 19, .kernel = {1, 1, 3}};
  for (const int64_t width : {1, 2, 7, 15, 16, 17, 31, 33, 95, 96, 97, 200})
    check<shape>(conv_sizes(shape, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
}

TEST(ISA_SUITE(TilesConvolution), ChannelsAroundAStepAndATile) {
  constexpr ConvShape one{.input_channels = 1, .output_channels = 1, .kernel = {3, 3, 3}};
  constexpr ConvShape odd{.input_channels = 33, .output_channels = 17, .kernel = {1, 3, 3}};
  constexpr ConvShape whole{.input_channels = 64, .output_channels = 32, .kernel = {3, 3, 3}};
  constexpr ConvShape half{.input_channels = 47, .output_channels = 40, .kernel = {3, 1, 1}};
  check<one>(conv_sizes(one, 2, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}));
  check<odd>(conv_sizes(odd, 1, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check<whole>(conv_sizes(whole, 1, {3, 7, 7}, {1, 1, 1}, {1, 1, 1}));
  check<half>(conv_sizes(half, 2, {4, 3, 5}, {1, 0, 0}, {1, 0, 0}));
}

TEST(ISA_SUITE(TilesConvolution), StridesTakenApartIntoPhases) {
  constexpr ConvShape halves{.input_channels = 8, .output_channels = 16, .kernel = {3, 3, 3}, .stride = {2, 2, 2}};
  constexpr ConvShape mixed{.input_channels = 6, .output_channels = 20, .kernel = {3, 2, 5}, .stride = {2, 3, 2}};
  constexpr ConvShape skips{.input_channels = 35, .output_channels = 16, .stride = {2, 2, 2}};
  constexpr ConvShape both{
      .input_channels = 4, .output_channels = 16, .kernel = {3, 3, 3}, .stride = {1, 2, 3}, .dilation = {2, 1, 2}};
  check<halves>(conv_sizes(halves, 2, {6, 9, 12}, {1, 1, 1}, {1, 1, 1}));
  check<mixed>(conv_sizes(mixed, 1, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  check<skips>(conv_sizes(skips, 1, {5, 7, 10}, {0, 0, 0}, {0, 0, 0}));
  check<both>(conv_sizes(both, 1, {9, 8, 14}, {4, 1, 2}, {2, 2, 1}));
}

TEST(ISA_SUITE(TilesConvolution), DilationsAndPadsThatDifferByAxisOrCrop) {
  constexpr ConvShape dilated{.input_channels = 6, .output_channels = 16, .kernel = {2, 3, 3}, .dilation = {3, 2, 4}};
  constexpr ConvShape plain{.input_channels = 3, .output_channels = 16, .kernel = {3, 3, 3}};
  check<dilated>(conv_sizes(dilated, 1, {6, 7, 12}, {2, 3, 4}, {1, 0, 5}));
  check<plain>(conv_sizes(plain, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
  check<plain>(conv_sizes(plain, 1, {1, 2, 3}, {2, 4, 20}, {2, 3, 5}));
  check<plain>(conv_sizes(plain, 1, {3, 3, 4}, {1, 1, 5}, {1, 1, 0}));
}

// Strips of some planes, and of some rows of one.
TEST(ISA_SUITE(TilesConvolution), SeveralTasks) {
  constexpr ConvShape shape{.input_channels = 64, .output_channels = 16, .kernel = {3, 3, 3}};
  const ConvSizes planes = conv_sizes(shape, 2, {19, 5, 6}, {1, 1, 1}, {1, 1, 1});
  EXPECT_GT(tiles_geometry({shape, 2}, planes).plane_ranges, 1);
  check<shape>(planes);
  constexpr ConvShape flat{.input_channels = 32, .output_channels = 16, .kernel = {1, 3, 3}};
  const ConvSizes rows = conv_sizes(flat, 1, {1, 150, 100}, {0, 1, 1}, {0, 1, 1});
  EXPECT_GT(tiles_geometry({flat, 2}, rows).row_ranges, 1);
  check<flat>(rows);
}

// Weights of more than a megabyte: tasks share out output channels.
TEST(ISA_SUITE(TilesConvolution), ManyWeights) {
  constexpr ConvShape shape{.input_channels = 160, .output_channels = 144, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {1, 2, 3}, {1, 1, 1}, {1, 1, 1});
  EXPECT_GT(tiles_geometry({shape, 2}, sizes).splits, 1);
  check<shape>(sizes);
}

TEST(ISA_SUITE(TilesConvolution), BytesOfBothTypes) {
  constexpr ConvShape narrow{.input_channels = 5, .output_channels = 19, .kernel = {1, 1, 3}};
  for (const int64_t width : {1, 2, 15, 16, 17, 95, 96, 97}) {
    check_bytes<narrow, uint8_t>(conv_sizes(narrow, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
    check_bytes<narrow, int8_t>(conv_sizes(narrow, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
  }
  constexpr ConvShape odd{.input_channels = 65, .output_channels = 17, .kernel = {1, 3, 3}};
  constexpr ConvShape whole{.input_channels = 64, .output_channels = 32, .kernel = {3, 3, 3}};
  constexpr ConvShape strided{.input_channels = 79, .output_channels = 40, .kernel = {3, 2, 3}, .stride = {2, 3, 2}};
  constexpr ConvShape dilated{.input_channels = 6, .output_channels = 16, .kernel = {2, 3, 3}, .dilation = {3, 2, 4}};
  check_bytes<odd, int8_t>(conv_sizes(odd, 2, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check_bytes<whole, uint8_t>(conv_sizes(whole, 1, {3, 7, 7}, {1, 1, 1}, {1, 1, 1}));
  check_bytes<strided, int8_t>(conv_sizes(strided, 1, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  check_bytes<dilated, uint8_t>(conv_sizes(dilated, 1, {6, 7, 12}, {2, 3, 4}, {1, 0, 5}));
}

TEST(ISA_SUITE(TilesConvolution), ZeroPointsAtTheEndsOfBothTypes) {
  constexpr ConvShape shape{.input_channels = 6, .output_channels = 5, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {3, 4, 6}, {1, 1, 1}, {1, 1, 1});
  for (const int zero_point : {0, 1, 128, 255}) check_bytes<shape, uint8_t>(sizes, static_cast<uint8_t>(zero_point));
  for (const int zero_point : {-128, -1, 0, 127}) check_bytes<shape, int8_t>(sizes, static_cast<int8_t>(zero_point));
}

TEST(ISA_SUITE(TilesConvolution), ReadsFloat32AndStoresBfloat16) {
  constexpr ConvShape shape{.input_channels = 18, .output_channels = 35, .kernel = {1, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1});
  check<shape, float, float>(sizes);
  check<shape, bfloat16_t, bfloat16_t>(sizes, {.tolerance = 2.0});  // sums stay below 1024
}

// The products are exact; additions round by 2^-24 of partial sums below 8 * sqrt(products).
TEST(ISA_SUITE(TilesConvolution), RandomValuesWithinTheRoundingsOfTheSum) {
  constexpr ConvShape shape{.input_channels = 40, .output_channels = 16, .kernel = {1, 3, 3}};
  constexpr double products = 40.0 * 9;
  const auto fill = [](std::vector<float>& values, uint32_t seed) {
    fill_with_normals(values, seed);
    for (float& value : values) value = static_cast<float>(bfloat16_t(value));
  };
  check<shape>(conv_sizes(shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}),
               {fill, products * 0x1p-24 * 8 * std::sqrt(products)});
}

TEST(ISA_SUITE(TilesConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 16};
  using Kernel = TilesConvolution<shape, float, float, NoEpilogue>;
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 1, {0, 4, 4}, {}, {})).tasks, 0);
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 0, {4, 4, 4}, {}, {})).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
