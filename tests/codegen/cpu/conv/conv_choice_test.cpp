#include "codegen/cpu/conv/conv_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

constexpr Axes cube{3, 3, 3};
const CpuMachine v3 = *find_cpu_machine("x86-64-v3"), v4 = *find_cpu_machine("x86-64-v4");

ConvAlgorithm choose(const ConvShape& shape, const Axes& output) {
  return choose_convolution(shape, v4, {output}).algorithm;
}
ConvAlgorithm choose_unknown(const ConvShape& shape, const Axes& usual) {
  return choose_convolution(shape, v4, {usual, false}).algorithm;
}

TEST(ConvChoice, FewInputChannelsAreReadPlanar) {
  EXPECT_EQ(
      choose({.input_channels = 3, .output_channels = 24, .kernel = {1, 3, 3}, .stride = {1, 2, 2}}, {13, 80, 80}),
      ConvAlgorithm::stem);
  EXPECT_EQ(choose({.input_channels = 4, .output_channels = 8}, {8, 8, 8}), ConvAlgorithm::stem);
}

TEST(ConvChoice, StemsWithManyTapsTakeFewerProducts) {
  for (const CpuMachine& machine : {v3, v4}) {
    EXPECT_EQ(choose_convolution({.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}}, machine,
                                 {Axes{32, 32, 32}})
                  .algorithm,
              ConvAlgorithm::stem_winograd);
    EXPECT_EQ(choose_convolution({.input_channels = 3, .output_channels = 64, .kernel = {3, 7, 7}, .stride = {1, 2, 2}},
                                 machine, {Axes{16, 56, 56}})
                  .algorithm,
              ConvAlgorithm::stem_winograd);
  }
  EXPECT_EQ(choose({.input_channels = 3, .output_channels = 64, .kernel = cube}, {16, 112, 112}),
            ConvAlgorithm::stem_winograd);
}

// Where rows are wanted.
TEST(ConvChoice, StemsToRows) {
  for (const CpuMachine& machine : {v3, v4}) {
    const auto choose = [&](const ConvShape& shape, const Axes& output) {
      return choose_planar_convolution(shape, machine, output);
    };
    const ConvShape seed{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
    EXPECT_EQ(choose(seed, {32, 32, 32}), ConvAlgorithm::planar_winograd);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = cube}, {32, 40, 48}),
              ConvAlgorithm::planar_winograd);
    // No axis saves products, and more channels than that kernel takes.
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = {1, 1, 3}}, {32, 40, 48}),
              ConvAlgorithm::planar);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 8, .kernel = {1, 1, 3}}, {32, 40, 48}), std::nullopt);
    // A vector of a row would be mostly empty; a stride along the width; many channels.
    EXPECT_EQ(choose(seed, {32, 32, 2}), std::nullopt);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = cube, .stride = {1, 1, 2}}, {32, 40, 48}),
              std::nullopt);
    EXPECT_EQ(choose({.input_channels = 8, .output_channels = 3, .kernel = cube}, {32, 40, 48}), std::nullopt);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 32, .kernel = cube}, {32, 64, 64}),
              ConvAlgorithm::planar_winograd);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 33, .kernel = cube}, {32, 64, 64}), std::nullopt);
  }
}

TEST(ConvChoice, LargeMapsOfThreeTapsTakeWinograd) {
  for (const CpuMachine& machine : {v3, v4})
    for (const int64_t channels : {32, 64, 128, 256})
      EXPECT_EQ(choose_convolution({.input_channels = channels, .output_channels = channels, .kernel = cube}, machine,
                                   {Axes{16, 28, 28}})
                    .algorithm,
                ConvAlgorithm::winograd)
          << channels;
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 144, .kernel = {1, 3, 3}}, {8, 56, 56}),
            ConvAlgorithm::winograd);
  EXPECT_EQ(choose({.input_channels = 144, .output_channels = 64, .kernel = {3, 1, 1}}, {8, 56, 56}),
            ConvAlgorithm::winograd);
}

TEST(ConvChoice, WhereTheSizeIsAGuessWinogradMustWinClearly) {
  EXPECT_EQ(choose_unknown({.input_channels = 64, .output_channels = 64, .kernel = cube}, {64, 64, 64}),
            ConvAlgorithm::winograd);
  // A little cheaper, for 2.4 times the weights.
  const ConvShape deep{.input_channels = 128, .output_channels = 128, .kernel = cube};
  EXPECT_EQ(choose(deep, {4, 6, 6}), ConvAlgorithm::winograd);
  EXPECT_EQ(choose_unknown(deep, {4, 6, 6}), ConvAlgorithm::direct);
}

TEST(ConvChoice, MapsWhereTilesAreMostlyEmptyAreDirect) {
  const ConvShape shape{.input_channels = 512, .output_channels = 512, .kernel = cube};
  EXPECT_EQ(choose(shape, {1, 1, 1}), ConvAlgorithm::direct);
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64, .kernel = {3, 1, 1}}, {1, 8, 8}),
            ConvAlgorithm::direct);
}

TEST(ConvChoice, SmallMapsWithManyWeightsAreDirect) {
  // The transformed weights are 2.4 times as many, and reading them takes longer than the products saved.
  const ConvShape shape{.input_channels = 512, .output_channels = 512, .kernel = cube};
  EXPECT_EQ(choose(shape, {2, 7, 7}), ConvAlgorithm::direct);
  EXPECT_EQ(choose(shape, {4, 14, 14}), ConvAlgorithm::winograd);
}

// With eight lanes products weigh twice as much beside the bytes of weights, and Winograd is expected to win. Where
// taps in the padding are left out anyway it would by so little that it is not worth 36 MiB more of a process.
TEST(ConvChoice, ManyWeightsMustPayClearly) {
  const ConvShape cubes{.input_channels = 512, .output_channels = 512, .kernel = cube};
  const ConvShape planes{.input_channels = 512, .output_channels = 1152, .kernel = {1, 3, 3}};
  EXPECT_LT(convolution_cost({ConvAlgorithm::winograd, {2, 2, 2}}, cubes, v3, {2, 7, 7}),
            convolution_cost({ConvAlgorithm::direct}, cubes, v3, {2, 7, 7}));
  EXPECT_EQ(choose_convolution(cubes, v3, {Axes{2, 7, 7}}).algorithm, ConvAlgorithm::direct);
  EXPECT_EQ(choose_convolution(cubes, v3, {Axes{4, 14, 14}}).algorithm, ConvAlgorithm::winograd);
  EXPECT_EQ(choose_convolution(planes, v3, {Axes{1, 7, 7}}), (ConvChoice{ConvAlgorithm::winograd, {1, 2, 2}}));
  EXPECT_EQ(choose(planes, {1, 7, 7}), ConvAlgorithm::direct);
}

// Two frames leave four of six taps of 3x1x1 inside the input, as many products as Winograd's.
TEST(ConvChoice, EightLanesCountTheTapsInsideTheInput) {
  const ConvShape shape{.input_channels = 576, .output_channels = 256, .kernel = {3, 1, 1}};
  EXPECT_EQ(choose_convolution(shape, v3, {Axes{2, 14, 14}}).algorithm, ConvAlgorithm::direct);
  EXPECT_EQ(choose_convolution(shape, v3, {Axes{4, 14, 14}}).algorithm, ConvAlgorithm::winograd);
}

// A form with more weights must save more than holding them is worth.
TEST(ConvChoice, EightLanesHoldFewerWeights) {
  const ConvShape shape{.input_channels = 192, .output_channels = 192, .kernel = cube};
  const Axes output{4, 14, 14}, twos{2, 2, 2}, fours{2, 2, 4};
  EXPECT_LT(convolution_cost({ConvAlgorithm::winograd, fours}, shape, v3, output),
            convolution_cost({ConvAlgorithm::winograd, twos}, shape, v3, output));
  EXPECT_EQ(choose_convolution(shape, v3, {output}).tile, twos);
}

Axes tile(const ConvShape& shape, const Axes& output) { return choose_convolution(shape, v4, {output}).tile; }

TEST(ConvChoice, LargeMapsTakeTilesOfFour) {
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 64, .kernel = cube}, {16, 56, 56}), (Axes{2, 2, 4}));
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 144, .kernel = {1, 3, 3}}, {8, 56, 56}), (Axes{1, 2, 4}));
  EXPECT_EQ(tile({.input_channels = 144, .output_channels = 64, .kernel = {3, 1, 1}}, {8, 56, 56}), (Axes{4, 1, 1}));
}

TEST(ConvChoice, EightLanesTakeTilesOfFourByFour) {
  constexpr ConvShape shape{.input_channels = 64, .output_channels = 144, .kernel = {1, 3, 3}};
  EXPECT_EQ(choose_convolution(shape, v3, {Axes{8, 56, 56}}).tile, (Axes{1, 4, 4}));
  EXPECT_EQ(choose_convolution(shape, v4, {Axes{8, 56, 56}}).tile, (Axes{1, 2, 4}));
}

TEST(ConvChoice, EightLanesTakeTilesOfFourByFourInVolumesWhereTheirWeightsAreFew) {
  for (const int64_t channels : {16, 32, 64}) {
    const ConvShape shape{.input_channels = channels, .output_channels = channels, .kernel = cube};
    EXPECT_EQ(choose_convolution(shape, v3, {Axes{16, 56, 56}}).tile, (Axes{2, 4, 4}));
    EXPECT_EQ(choose_convolution(shape, v4, {Axes{16, 56, 56}}).tile, (Axes{2, 2, 4}));
  }
  // 9 MiB, where 2x2x4 has 6.
  const ConvShape many{.input_channels = 128, .output_channels = 128, .kernel = cube};
  EXPECT_EQ(choose_convolution(many, v3, {Axes{8, 28, 28}}).tile, (Axes{2, 2, 4}));
}

TEST(ConvChoice, WholeWeightsTakeTilesThatKeepIntegersExact) {
  const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube};
  EXPECT_EQ(choose_convolution(shape, v4, {Axes{16, 56, 56}}, ConvWeights::whole).tile, (Axes{2, 2, 2}));
}

TEST(ConvChoice, SmallMapsAndManyWeightsTakeTilesOfTwo) {
  // Of a tile of four in two voxels, half would be empty; transformed weights of 512 channels would grow by 33 MB.
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 64, .kernel = {3, 1, 1}}, {2, 56, 56}), (Axes{2, 1, 1}));
  EXPECT_EQ(tile({.input_channels = 512, .output_channels = 512, .kernel = cube}, {4, 14, 14}), (Axes{2, 2, 2}));
}

TEST(ConvChoice, FiveTapsTakeWinogradUnlessTheMapIsTiny) {
  const auto shape = [](int64_t channels) {
    return ConvShape{.input_channels = channels, .output_channels = channels, .kernel = {5, 5, 5}};
  };
  for (const CpuMachine& machine : {v3, v4}) {
    for (const int64_t channels : {16, 32, 64, 128})
      EXPECT_EQ(choose_convolution(shape(channels), machine, {Axes{16, 24, 32}}),
                (ConvChoice{ConvAlgorithm::winograd, {1, 2, 2}}));
    EXPECT_EQ(choose_convolution(shape(256), machine, {Axes{2, 3, 4}}).algorithm, ConvAlgorithm::direct);
    EXPECT_EQ(choose_convolution(shape(64), machine, {Axes{16, 24, 32}}, ConvWeights::whole).algorithm,
              ConvAlgorithm::direct);
  }
}

TEST(ConvChoice, StridesOfTwoTakeWinogradWithManyChannels) {
  constexpr Axes two{2, 2, 2};
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 128, .kernel = cube, .stride = two}, {8, 28, 28}), two);
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 230, .kernel = {1, 3, 3}, .stride = {1, 2, 2}}, {8, 28, 28}),
            (Axes{1, 2, 2}));
  EXPECT_EQ(choose({.input_channels = 16, .output_channels = 32, .kernel = cube, .stride = two}, {16, 20, 24}),
            ConvAlgorithm::direct);
}

TEST(ConvChoice, DilationsTakeWinogradWhereTheirLatticesFillTiles) {
  for (const CpuMachine& machine : {v3, v4}) {
    const auto choose = [&](const ConvShape& shape, const Axes& output) {
      return choose_convolution(shape, machine, {output});
    };
    const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube, .dilation = {4, 4, 4}};
    EXPECT_EQ(choose(shape, {32, 40, 48}),
              (ConvChoice{ConvAlgorithm::winograd, {2, machine.convolution.takes_two_fours ? 4 : 2, 4}}));
    // Lattices of one tile, of which a register tile would be mostly empty.
    EXPECT_EQ(choose(shape, {4, 4, 4}).algorithm, ConvAlgorithm::direct);
    EXPECT_EQ(choose(shape, {8, 8, 8}).algorithm, ConvAlgorithm::direct);
    // A dilation of one tap is none, with a stride there is no form.
    EXPECT_EQ(
        choose({.input_channels = 64, .output_channels = 64, .kernel = {1, 3, 3}, .dilation = {9, 1, 1}}, {16, 28, 28}),
        choose({.input_channels = 64, .output_channels = 64, .kernel = {1, 3, 3}}, {16, 28, 28}));
    EXPECT_EQ(
        choose(
            {.input_channels = 64, .output_channels = 64, .kernel = cube, .stride = {2, 2, 2}, .dilation = {2, 2, 2}},
            {16, 28, 28})
            .algorithm,
        ConvAlgorithm::direct);
  }
}

TEST(ConvChoice, StridesOfTwoWithManyWeightsTransformFewerAxes) {
  // Along all three axes the weights would be 4.6 times as many, along two they are 2.8 times.
  const ConvShape shape{.input_channels = 128, .output_channels = 256, .kernel = cube, .stride = {2, 2, 2}};
  EXPECT_EQ(tile(shape, {4, 14, 14}), (Axes{1, 2, 2}));
  EXPECT_EQ(choose({.input_channels = 256, .output_channels = 512, .kernel = cube, .stride = {2, 2, 2}}, {2, 7, 7}),
            ConvAlgorithm::direct);
}

TEST(ConvChoice, WhatHasNoWinogradFormIsDirect) {
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64, .kernel = cube, .stride = {3, 3, 3}}, {8, 28, 28}),
            ConvAlgorithm::direct);
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64}, {8, 28, 28}), ConvAlgorithm::direct);
}

TEST(ConvChoice, CostGrowsWithTheMap) {
  const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube};
  for (const ConvChoice& choice :
       {ConvChoice{ConvAlgorithm::direct}, {ConvAlgorithm::winograd, {2, 2, 2}}, {ConvAlgorithm::winograd, {2, 2, 4}}})
    EXPECT_LT(convolution_cost(choice, shape, v4, {4, 14, 14}), convolution_cost(choice, shape, v4, {8, 14, 14}));
}

}  // namespace
}  // namespace onnxc
