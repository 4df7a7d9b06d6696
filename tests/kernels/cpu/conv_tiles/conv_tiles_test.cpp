// The convolution by tiles, on the emulation unless the tests are compiled for a machine with AMX.
#include "kernels/cpu/conv_tiles/conv_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/conv_int8/byte_harness.h"
#include "kernels/cpu/conv_tiles/conv_tiles_packing.h"
#include "kernels/cpu/isa_suite.h"

namespace onnxc::kernels {
namespace {

// Each task by itself, last first; every operand a view with gaps of NaN.
template <ConvShape shape, class Input, class Output, class Weight, class Elements, class Packed>
void check_packed(const Operands& operands, const std::vector<Packed>& packed, double tolerance) {
  const ConvSizes& sizes = operands.sizes;
  BlockedTensor<Input> input(sizes.batch, shape.input_channels, sizes.input);
  input.fill_from(operands.input);
  BlockedTensor<Output> residual(sizes.batch, shape.output_channels, sizes.output);
  BlockedTensor<Output> output(sizes.batch, shape.output_channels, sizes.output);
  residual.fill_from(operands.residual);
  const size_t bytes = packed.size() * sizeof(Packed);
  const std::unique_ptr<void, AlignedFree> weights = nan_scratch(static_cast<int64_t>(bytes));
  std::memcpy(weights.get(), packed.data(), bytes);
  using Kernel = TilesConvolution<shape, Input, Output, PositionEpilogue<Output>, Elements>;
  run_tasks_backwards<Kernel>(
      {input.data(), static_cast<const Weight*>(weights.get()), output.data(), sizes, input.view, output.view},
      PositionEpilogue<Output>{operands.bias.data(), residual.data()});
  output.expect_equal(operands.expected, tolerance);
}

template <ConvShape shape, class Input = bfloat16_t, class Output = float>
void check(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  check_packed<shape, Input, Output, bfloat16_t, TilesOfBfloat16>(operands, pack_tiles_weights(shape, operands.weights),
                                                                  trial.tolerance);
}

template <ConvShape shape>
void check_digits(const ConvSizes& sizes, const Trial& trial = {}) {
  const Operands operands(shape, sizes, trial);
  check_packed<shape, float, float, uint8_t, TilesOfDigits>(operands, pack_tiles_digits(shape, operands.weights),
                                                            trial.tolerance);
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
  EXPECT_GT(tiles_geometry({shape, TilesKind::bfloat16}, planes).plane_ranges, 1);
  check<shape>(planes);
  constexpr ConvShape flat{.input_channels = 32, .output_channels = 16, .kernel = {1, 3, 3}};
  const ConvSizes rows = conv_sizes(flat, 1, {1, 150, 100}, {0, 1, 1}, {0, 1, 1});
  EXPECT_GT(tiles_geometry({flat, TilesKind::bfloat16}, rows).row_ranges, 1);
  check<flat>(rows);
}

// Weights of more than a megabyte: tasks share out output channels.
TEST(ISA_SUITE(TilesConvolution), ManyWeights) {
  constexpr ConvShape shape{.input_channels = 160, .output_channels = 144, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(shape, 1, {1, 2, 3}, {1, 1, 1}, {1, 1, 1});
  EXPECT_GT(tiles_geometry({shape, TilesKind::bfloat16}, sizes).splits, 1);
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

// Integers below 2^15 are exact.
TEST(ISA_SUITE(TilesConvolution), DigitsOfEveryWidthAndChannelsAroundAStep) {
  constexpr ConvShape narrow{.input_channels = 5, .output_channels = 19, .kernel = {1, 1, 3}};
  for (const int64_t width : {1, 2, 15, 16, 17, 31, 32, 33, 65, 200})
    check_digits<narrow>(conv_sizes(narrow, 1, {1, 1, width}, {0, 0, 1}, {0, 0, 1}));
  constexpr ConvShape one{.input_channels = 1, .output_channels = 1, .kernel = {3, 3, 3}};
  constexpr ConvShape odd{.input_channels = 65, .output_channels = 17, .kernel = {1, 3, 3}};
  constexpr ConvShape whole{.input_channels = 64, .output_channels = 32, .kernel = {3, 3, 3}};
  check_digits<one>(conv_sizes(one, 2, {3, 4, 5}, {1, 1, 1}, {1, 1, 1}));
  check_digits<odd>(conv_sizes(odd, 2, {2, 5, 7}, {0, 1, 1}, {0, 1, 1}));
  check_digits<whole>(conv_sizes(whole, 1, {3, 7, 7}, {1, 1, 1}, {1, 1, 1}));
}

TEST(ISA_SUITE(TilesConvolution), DigitsWithStridesDilationsAndPads) {
  constexpr ConvShape strided{.input_channels = 79, .output_channels = 40, .kernel = {3, 2, 3}, .stride = {2, 3, 2}};
  constexpr ConvShape dilated{.input_channels = 6, .output_channels = 16, .kernel = {2, 3, 3}, .dilation = {3, 2, 4}};
  constexpr ConvShape plain{.input_channels = 3, .output_channels = 16, .kernel = {3, 3, 3}};
  check_digits<strided>(conv_sizes(strided, 1, {7, 11, 13}, {1, 0, 2}, {0, 1, 3}));
  check_digits<dilated>(conv_sizes(dilated, 1, {6, 7, 12}, {2, 3, 4}, {1, 0, 5}));
  check_digits<plain>(conv_sizes(plain, 1, {7, 8, 9}, {-1, -2, 1}, {1, -1, -3}));
}

TEST(ISA_SUITE(TilesConvolution), DigitsInSeveralTasksAndWithManyWeights) {
  constexpr ConvShape flat{.input_channels = 64, .output_channels = 16, .kernel = {1, 3, 3}};
  const ConvSizes rows = conv_sizes(flat, 2, {2, 70, 50}, {0, 1, 1}, {0, 1, 1});
  EXPECT_GT(tiles_geometry({flat, TilesKind::digits}, rows).row_ranges, 1);
  check_digits<flat>(rows);
  constexpr ConvShape many{.input_channels = 160, .output_channels = 144, .kernel = {3, 3, 3}};
  const ConvSizes sizes = conv_sizes(many, 1, {1, 2, 3}, {1, 1, 1}, {1, 1, 1});
  EXPECT_GT(tiles_geometry({many, TilesKind::digits}, sizes).splits, 1);
  check_digits<many>(sizes);
}

// Sums by the definition if something in a strip is not finite, or is FLT_MAX, beside which all digits would be zero.
TEST(ISA_SUITE(TilesConvolution), DigitsThatAreNotFinite) {
  constexpr ConvShape shape{.input_channels = 18, .output_channels = 35, .kernel = {3, 3, 3}, .stride = {1, 2, 1}};
  const ConvSizes sizes = conv_sizes(shape, 2, {4, 7, 9}, {1, 1, 1}, {1, 1, 1});
  check_digits<shape>(sizes, {.fill = fill_with_some_not_finite});
  check_digits<shape>(sizes, {.fill = [](std::vector<float>& values, uint32_t seed) {
                        fill_with_integers(values, seed);
                        if (seed == 1) std::ranges::fill(values, std::numeric_limits<float>::quiet_NaN());
                      }});
}

constexpr ConvShape digits_shape{.input_channels = 40, .output_channels = 16, .kernel = {1, 3, 3}};
constexpr double digits_products = 40.0 * 9;

// Factors below 6 are off by 2^-23 of the largest at most, each in its own direction: six deviations of the sum.
TEST(ISA_SUITE(TilesConvolution), DigitsOfRandomValuesWithinTheirRoundings) {
  const double deviation = std::sqrt(digits_products * 2 / 3) * 6 * 0x1p-23;
  check_digits<digits_shape>(conv_sizes(digits_shape, 1, {2, 5, 9}, {0, 1, 1}, {0, 1, 1}),
                             {fill_with_normals, 6 * deviation});
}

// One input of 2^k: outputs that do not read it are as exact as without it.
void check_beside_outlier(float outlier, const decltype(Trial::fill)& fill, double tolerance) {
  const ConvSizes sizes = conv_sizes(digits_shape, 1, {1, 5, 9}, {0, 1, 1}, {0, 1, 1});
  const Axes place{0, 2, 4};
  const auto with_outlier = [&](std::vector<float>& values, uint32_t seed) {
    fill(values, seed);
    if (seed == 1) values[static_cast<size_t>((20 * sizes.input.h + place.h) * sizes.input.w + place.w)] = outlier;
  };
  const Operands operands(digits_shape, sizes, {with_outlier});
  BlockedTensor<float> input(1, digits_shape.input_channels, sizes.input),
      output(1, digits_shape.output_channels, sizes.output);
  input.fill_from(operands.input);
  const std::vector<uint8_t> packed = pack_tiles_digits(digits_shape, operands.weights);
  const std::unique_ptr<void, AlignedFree> weights = nan_scratch(std::ssize(packed));
  std::memcpy(weights.get(), packed.data(), packed.size());
  run_tasks_backwards<TilesConvolution<digits_shape, float, float, NoEpilogue, TilesOfDigits>>(
      {input.data(), static_cast<const uint8_t*>(weights.get()), output.data(), sizes, input.view, output.view},
      NoEpilogue{});
  const PlainTensor expected = reference_convolution(digits_shape, sizes, operands.input, operands.weights);
  for_each_voxel(sizes.output, [&](int64_t d, int64_t h, int64_t w) {
    const bool reads_it = std::abs(h - place.h) <= 1 && std::abs(w - place.w) <= 1;
    for (int64_t channel = 0; channel < digits_shape.output_channels; ++channel)
      EXPECT_NEAR(output.data()[output.offset(0, channel, d, h, w)], expected.at(0, channel, d, h, w),
                  tolerance + (reads_it ? outlier * 0x1p-20 : 0.0))
          << "beside " << outlier << ", channel " << channel << " at " << h << ", " << w;
  });
}

TEST(ISA_SUITE(TilesConvolution), DigitsBesideAnyOutlier) {
  // A weight below 6 is off by 2^-23 of that at most, and so are the inputs while there is no second set of digits;
  // then the orders that are left out weigh more.
  const double rounding = 6 * std::sqrt(digits_products * 2 / 3) * 6 * 0x1p-23;
  for (const float outlier : {0x1p4f, 0x1p9f, 0x1p14f, 0x1p20f, 0x1p24f, 0x1p40f, 0x1p120f}) {
    check_beside_outlier(outlier, fill_with_integers, 0.0);
    check_beside_outlier(outlier, fill_with_normals, outlier < 32 ? outlier * rounding : rounding);
  }
}

TEST(ISA_SUITE(TilesConvolution), DigitsOfTinyAndOfNoValues) {
  for (const float factor : {0.0f, 0x1p-120f, 0x1p-90f, 0x1p-40f, 0x1p100f}) {
    const auto fill = [&](std::vector<float>& values, uint32_t seed) {
      fill_with_integers(values, seed);
      for (float& value : values) value *= seed == 1 ? factor : seed == 2 ? 1.0f : 0.0f;
    };
    check_digits<digits_shape>(conv_sizes(digits_shape, 1, {1, 5, 9}, {0, 1, 1}, {0, 1, 1}), {fill, 0.0});
  }
}

TEST(ISA_SUITE(TilesConvolution), WeightsThatHaveDigits) {
  constexpr ConvShape shape{.input_channels = 8192, .output_channels = 2};
  std::vector<float> weights(2 * 8192, 1.0f);
  EXPECT_TRUE(have_digits(shape, weights));
  weights[9000] = 1e4f;
  EXPECT_FALSE(have_digits(shape, weights));
  weights[9000] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(have_digits(shape, weights));
  EXPECT_TRUE(have_digits(shape, std::vector<float>(2 * 8192, 0.0f)));
}

TEST(DigitExponent, MakesTheLargestAnIntegerOfThreeDigits) {
  for (const float largest : {1.0f, 1.9f, 1.984376f, 1.9844f, 3e38f, 1e-37f, 8323071.0f, 8323072.0f}) {
    const double number = std::ldexp(double{largest}, digit_exponent(largest));
    EXPECT_LE(number, 8323071.0) << largest;
    EXPECT_GT(number, 8323071.0 / 2 - 1) << largest;
  }
  EXPECT_EQ(digit_exponent(0.0f), 148);
  EXPECT_EQ(power_of_two(-126), 0x1p-126f);
  EXPECT_EQ(power_of_two(127), 0x1p127f);
}

TEST(ISA_SUITE(TilesConvolution), NothingToDo) {
  constexpr ConvShape shape{.input_channels = 3, .output_channels = 16};
  using Kernel = TilesConvolution<shape, float, float, NoEpilogue>;
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 1, {0, 4, 4}, {}, {})).tasks, 0);
  EXPECT_EQ(Kernel::work(conv_sizes(shape, 0, {4, 4, 4}, {}, {})).tasks, 0);
}

}  // namespace
}  // namespace onnxc::kernels
