// Which kernel a convolution of this shape takes if its output is wanted in blocks, or in rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "codegen/cpu/call/kernel_rows.h"
#include "codegen/cpu/cpu_target.h"

namespace onnxc {
namespace {

using kernels::Axes;
using kernels::ConvShape;

constexpr Axes cube{3, 3, 3};
const CpuMachine v3 = *find_cpu_machine("x86-64-v3"), v4 = *find_cpu_machine("x86-64-v4");

struct Given {
  bool output_is_known = true, has_whole_weights = false;
  DType input = DType::float32;
};

Offers offers_of(const ConvShape& shape, const CpuMachine& machine, const Axes& output, const Given& given) {
  KernelConvolution convolution{.spec = {.batch = 1,
                                         .input_channels = shape.input_channels,
                                         .output_channels = shape.output_channels,
                                         .groups = shape.groups,
                                         .axes = std::vector<WindowAxis>(3)},
                                .shape = shape,
                                .axes = {}};
  const int64_t extents[] = {output.d, output.h, output.w};
  for (size_t i = 0; i < 3; ++i) convolution.axes[i].output = extents[i];
  CpuProblem problem;
  problem.convolution = std::make_shared<ConvolutionProblem>(
      ConvolutionProblem{std::move(convolution), output, given.output_is_known, given.has_whole_weights, given.input});
  Offers offers;
  for (const CpuKernelRow& row : cpu_kernel_rows)
    if (row.name.starts_with("conv")) row.offer(problem, machine, offers);
  return offers;
}

const Offer* cheapest(const Offers& offers, LayoutDemand gives) {
  const Offer* best = nullptr;
  for (const Offer& offer : offers)
    if (offer.declined.empty() && offer.gives == gives && (best == nullptr || offer.cost < best->cost)) best = &offer;
  return best;
}

// The kernel to blocks: "conv_winograd F(2,2,4)".
std::string to_blocks(const ConvShape& shape, const CpuMachine& machine, const Axes& output, const Given& given = {}) {
  const Offers offers = offers_of(shape, machine, output, given);
  return cheapest(offers, LayoutDemand::blocks)->kernel;
}
// The same without the form of a transform: "conv_winograd".
std::string family(const std::string& kernel) { return kernel.substr(0, kernel.find(' ')); }
std::string choose(const ConvShape& shape, const Axes& output) { return family(to_blocks(shape, v4, output)); }
std::string choose_unknown(const ConvShape& shape, const Axes& usual) {
  return family(to_blocks(shape, v4, usual, {.output_is_known = false}));
}

// The kernel to rows, if one costs less than a kernel to blocks and a copy.
std::optional<std::string> to_rows(const ConvShape& shape, const CpuMachine& machine, const Axes& output) {
  const Offers offers = offers_of(shape, machine, output, {});
  const double copy = cpu_target(machine).costs.copy_to_rows *
                      as_real(output.product() * kernels::divide_up(shape.output_channels, machine.lanes()));
  const Offer* best = cheapest(offers, LayoutDemand::rows);
  if (best == nullptr || best->cost >= *cheapest(offers, LayoutDemand::blocks)->cost + copy) return std::nullopt;
  return best->kernel;
}

double cost(const std::string& kernel, const ConvShape& shape, const CpuMachine& machine, const Axes& output) {
  const Offers offers = offers_of(shape, machine, output, {});
  const auto found = std::ranges::find(offers, kernel, &Offer::kernel);
  internal_check(found != offers.end(), "a kernel that supports the shape");
  return found->cost.value();
}

TEST(ConvOffers, FewInputChannelsAreReadPlanar) {
  EXPECT_EQ(
      choose({.input_channels = 3, .output_channels = 24, .kernel = {1, 3, 3}, .stride = {1, 2, 2}}, {13, 80, 80}),
      "conv_stem");
  EXPECT_EQ(choose({.input_channels = 4, .output_channels = 8}, {8, 8, 8}), "conv_stem");
}

TEST(ConvOffers, StemsWithManyTapsTakeFewerProducts) {
  for (const CpuMachine& machine : {v3, v4}) {
    EXPECT_EQ(
        family(to_blocks({.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}}, machine, Axes{32, 32, 32})),
        "conv_stem_winograd");
    EXPECT_EQ(family(to_blocks({.input_channels = 3, .output_channels = 64, .kernel = {3, 7, 7}, .stride = {1, 2, 2}},
                               machine, Axes{16, 56, 56})),
              "conv_stem_winograd");
  }
  EXPECT_EQ(choose({.input_channels = 3, .output_channels = 64, .kernel = cube}, {16, 112, 112}), "conv_stem_winograd");
}

// Groups of few outputs share vectors; of many each fills its own.
TEST(ConvOffers, Groups) {
  const auto choose_for = [](const CpuMachine& machine, int64_t groups, int64_t inputs, int64_t outputs) {
    return family(to_blocks({groups * inputs, groups * outputs, groups, cube}, machine, {16, 16, 16}));
  };
  for (const CpuMachine& machine : {v3, v4}) {
    EXPECT_EQ(choose_for(machine, 64, 1, 1), "conv_depthwise");
    EXPECT_EQ(choose_for(machine, 32, 4, 4), "conv_depthwise");
    EXPECT_EQ(choose_for(machine, 64, 2, 4), "conv_grouped");
    EXPECT_EQ(choose_for(machine, 64, 1, 2), "conv_grouped");
    EXPECT_EQ(choose_for(machine, 20, 3, 5), "conv_grouped");
    EXPECT_EQ(choose_for(machine, 8, 7, 7), "conv_grouped");
    EXPECT_EQ(choose_for(machine, 2, 24, 24), "conv_direct");
    EXPECT_EQ(choose_for(machine, 2, 32, 32), "conv_direct");
    EXPECT_EQ(choose_for(machine, 3, 31, 31), "conv_direct");
  }
  EXPECT_EQ(choose_for(v4, 64, 8, 16), "conv_grouped");
  EXPECT_EQ(choose_for(v4, 4, 12, 12), "conv_grouped");
  EXPECT_EQ(choose_for(v3, 4, 12, 12), "conv_direct");
}

// With rows wanted.
TEST(ConvOffers, StemsToRows) {
  for (const CpuMachine& machine : {v3, v4}) {
    const auto choose = [&](const ConvShape& shape, const Axes& output) { return to_rows(shape, machine, output); };
    const ConvShape seed{.input_channels = 1, .output_channels = 16, .kernel = {9, 9, 1}};
    EXPECT_EQ(choose(seed, {32, 32, 32}), "conv_planar_winograd");
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = cube}, {32, 40, 48}),
              "conv_planar_winograd");
    // No axis saves products, and more channels than that kernel takes.
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = {1, 1, 3}}, {32, 40, 48}), "conv_planar");
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 8, .kernel = {1, 1, 3}}, {32, 40, 48}), std::nullopt);
    // A vector of a row would be mostly empty; a stride along the width; many input channels, which are in blocks.
    EXPECT_EQ(choose(seed, {32, 32, 2}), std::nullopt);
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 3, .kernel = cube, .stride = {1, 1, 2}}, {32, 40, 48}),
              std::nullopt);
    EXPECT_EQ(choose({.input_channels = 8, .output_channels = 3, .kernel = cube}, {32, 40, 48}), "conv to rows");
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 32, .kernel = cube}, {32, 64, 64}),
              "conv_planar_winograd");
    EXPECT_EQ(choose({.input_channels = 3, .output_channels = 33, .kernel = cube}, {32, 64, 64}), std::nullopt);
  }
}

TEST(ConvOffers, FewOutputChannelsGoToRowsUnlessWinogradSavesMore) {
  constexpr Axes output{48, 48, 48};
  for (const CpuMachine& machine : {v3, v4}) {
    EXPECT_EQ(to_rows({.input_channels = 32, .output_channels = 3}, machine, output), "conv to rows");
    EXPECT_EQ(to_rows({.input_channels = 32, .output_channels = 2, .kernel = cube}, machine, output), "conv to rows");
    EXPECT_EQ(to_rows({.input_channels = 64, .output_channels = 4, .kernel = cube}, machine, output), std::nullopt);
  }
}

// Twice the products of an FMA beat what is not transformed, and few channels of three taps; not the transform of many.
TEST(ConvOffers, Bfloat16TakesPairsWhereTheMachineHasThem) {
  const CpuMachine zen4 = *find_cpu_machine("znver4");
  const ConvShape strided{.input_channels = 64, .output_channels = 128, .kernel = cube, .stride = {2, 2, 2}};
  const ConvShape point{.input_channels = 64, .output_channels = 256},
      plain{.input_channels = 64, .output_channels = 64, .kernel = cube};
  for (const ConvShape& shape : {strided, point}) {
    EXPECT_EQ(to_blocks(shape, zen4, {8, 28, 28}, {.input = DType::bfloat16}), "conv_direct in pairs");
    EXPECT_NE(to_blocks(shape, zen4, {8, 28, 28}, {.input = DType::float16}), "conv_direct in pairs");
    EXPECT_NE(to_blocks(shape, v4, {8, 28, 28}, {.input = DType::bfloat16}), "conv_direct in pairs");
  }
  EXPECT_EQ(family(to_blocks(plain, zen4, {16, 56, 56}, {.input = DType::bfloat16})), "conv_winograd");
}

TEST(ConvOffers, LargeMapsOfThreeTapsTakeWinograd) {
  for (const CpuMachine& machine : {v3, v4})
    for (const int64_t channels : {32, 64, 128, 256})
      EXPECT_EQ(family(to_blocks({.input_channels = channels, .output_channels = channels, .kernel = cube}, machine,
                                 Axes{16, 28, 28})),
                "conv_winograd")
          << channels;
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 144, .kernel = {1, 3, 3}}, {8, 56, 56}), "conv_winograd");
  EXPECT_EQ(choose({.input_channels = 144, .output_channels = 64, .kernel = {3, 1, 1}}, {8, 56, 56}), "conv_winograd");
}

TEST(ConvOffers, WhereTheSizeIsAGuessWinogradMustWinClearly) {
  EXPECT_EQ(choose_unknown({.input_channels = 64, .output_channels = 64, .kernel = cube}, {64, 64, 64}),
            "conv_winograd");
  // A little cheaper, for 2.4 times the weights.
  const ConvShape deep{.input_channels = 128, .output_channels = 128, .kernel = cube};
  EXPECT_EQ(choose(deep, {4, 6, 6}), "conv_winograd");
  EXPECT_EQ(choose_unknown(deep, {4, 6, 6}), "conv_direct");
}

TEST(ConvOffers, MapsWhereTilesAreMostlyEmptyAreDirect) {
  const ConvShape shape{.input_channels = 512, .output_channels = 512, .kernel = cube};
  EXPECT_EQ(choose(shape, {1, 1, 1}), "conv_direct");
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64, .kernel = {3, 1, 1}}, {1, 8, 8}), "conv_direct");
}

TEST(ConvOffers, SmallMapsWithManyWeightsAreDirect) {
  // The transformed weights are 2.4 times as many, and reading them takes longer than the products saved.
  const ConvShape shape{.input_channels = 512, .output_channels = 512, .kernel = cube};
  EXPECT_EQ(choose(shape, {2, 7, 7}), "conv_direct");
  EXPECT_EQ(choose(shape, {4, 14, 14}), "conv_winograd");
}

// With eight lanes products weigh twice as much beside the bytes of weights, and Winograd is expected to win. If taps
// in the padding are left out anyway it would by so little that it is not worth 36 MiB more of a process.
TEST(ConvOffers, ManyWeightsMustPayClearly) {
  const ConvShape cubes{.input_channels = 512, .output_channels = 512, .kernel = cube};
  const ConvShape planes{.input_channels = 512, .output_channels = 1152, .kernel = {1, 3, 3}};
  EXPECT_LT(cost("conv_winograd F(2,2,2)", cubes, v3, {2, 7, 7}), cost("conv_direct", cubes, v3, {2, 7, 7}));
  EXPECT_EQ(family(to_blocks(cubes, v3, Axes{2, 7, 7})), "conv_direct");
  EXPECT_EQ(family(to_blocks(cubes, v3, Axes{4, 14, 14})), "conv_winograd");
  EXPECT_EQ(to_blocks(planes, v3, Axes{1, 7, 7}), "conv_winograd F(2,2)");
  EXPECT_EQ(choose(planes, {1, 7, 7}), "conv_direct");
}

// Two frames leave four of six taps of 3x1x1 inside the input, as many products as Winograd's.
TEST(ConvOffers, EightLanesCountTheTapsInsideTheInput) {
  const ConvShape shape{.input_channels = 576, .output_channels = 256, .kernel = {3, 1, 1}};
  EXPECT_EQ(family(to_blocks(shape, v3, Axes{2, 14, 14})), "conv_direct");
  EXPECT_EQ(family(to_blocks(shape, v3, Axes{4, 14, 14})), "conv_winograd");
}

// A form with more weights must save more than holding them is worth.
TEST(ConvOffers, EightLanesHoldFewerWeights) {
  const ConvShape shape{.input_channels = 192, .output_channels = 192, .kernel = cube};
  const Axes output{4, 14, 14};
  EXPECT_LT(cost("conv_winograd F(2,2,4)", shape, v3, output), cost("conv_winograd F(2,2,2)", shape, v3, output));
  EXPECT_EQ(to_blocks(shape, v3, output), "conv_winograd F(2,2,2)");
}

std::string tile(const ConvShape& shape, const Axes& output) { return to_blocks(shape, v4, output); }

TEST(ConvOffers, LargeMapsTakeTilesOfFour) {
  for (const CpuMachine& machine : {v3, v4}) {
    const auto choose = [&](const ConvShape& shape) { return to_blocks(shape, machine, {16, 56, 56}); };
    for (const int64_t channels : {16, 32, 64})
      EXPECT_EQ(choose({.input_channels = channels, .output_channels = channels, .kernel = cube}),
                "conv_winograd F(2,4,4)");
    EXPECT_EQ(choose({.input_channels = 64, .output_channels = 144, .kernel = {1, 3, 3}}), "conv_winograd F(4,4)");
    EXPECT_EQ(choose({.input_channels = 512, .output_channels = 512, .kernel = {1, 3, 3}}), "conv_winograd F(4,4)");
    EXPECT_EQ(choose({.input_channels = 144, .output_channels = 64, .kernel = {3, 1, 1}}), "conv_winograd F(4)");
  }
}

TEST(ConvOffers, OnlySixteenLanesTakeTilesOfFourByFourInVolumesWithManyWeights) {
  // 9 MiB; 2x2x4 has 6.
  const ConvShape many{.input_channels = 128, .output_channels = 128, .kernel = cube};
  EXPECT_EQ(to_blocks(many, v3, Axes{8, 28, 28}), "conv_winograd F(2,2,4)");
  EXPECT_EQ(to_blocks(many, v4, Axes{8, 28, 28}), "conv_winograd F(2,4,4)");
}

TEST(ConvOffers, WholeWeightsTakeTilesThatKeepIntegersExact) {
  const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube};
  EXPECT_EQ(to_blocks(shape, v4, Axes{16, 56, 56}, {.has_whole_weights = true}), "conv_winograd F(2,2,2)");
}

TEST(ConvOffers, SmallMapsAndManyWeightsTakeTilesOfTwo) {
  // A tile of four in two voxels would be half empty; transformed weights of 512 channels would grow by 33 MB.
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 64, .kernel = {3, 1, 1}}, {2, 56, 56}),
            "conv_winograd F(2)");
  EXPECT_EQ(tile({.input_channels = 512, .output_channels = 512, .kernel = cube}, {4, 14, 14}),
            "conv_winograd F(2,2,2)");
}

TEST(ConvOffers, FiveTapsTakeWinogradUnlessTheMapIsTiny) {
  const auto shape = [](int64_t channels) {
    return ConvShape{.input_channels = channels, .output_channels = channels, .kernel = {5, 5, 5}};
  };
  for (const CpuMachine& machine : {v3, v4}) {
    for (const int64_t channels : {16, 32, 64, 128})
      EXPECT_EQ(to_blocks(shape(channels), machine, Axes{16, 24, 32}), "conv_winograd F(1,2,2)");
    EXPECT_EQ(family(to_blocks(shape(256), machine, Axes{2, 3, 4})), "conv_direct");
    EXPECT_EQ(family(to_blocks(shape(64), machine, Axes{16, 24, 32}, {.has_whole_weights = true})), "conv_direct");
  }
}

TEST(ConvOffers, StridesOfTwoTakeWinogradWithManyChannels) {
  constexpr Axes two{2, 2, 2};
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 128, .kernel = cube, .stride = two}, {8, 28, 28}),
            "conv_winograd F(2,2,2)");
  EXPECT_EQ(tile({.input_channels = 64, .output_channels = 230, .kernel = {1, 3, 3}, .stride = {1, 2, 2}}, {8, 28, 28}),
            "conv_winograd F(2,2)");
  EXPECT_EQ(choose({.input_channels = 16, .output_channels = 32, .kernel = cube, .stride = two}, {16, 20, 24}),
            "conv_direct");
}

TEST(ConvOffers, DilationsTakeWinogradWhereTheirLatticesFillTiles) {
  for (const CpuMachine& machine : {v3, v4}) {
    const auto choose = [&](const ConvShape& shape, const Axes& output) { return to_blocks(shape, machine, output); };
    const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube, .dilation = {4, 4, 4}};
    EXPECT_EQ(choose(shape, {32, 40, 48}), "conv_winograd F(2,4,4)");
    // Lattices of one tile: a register tile would be mostly empty.
    EXPECT_EQ(choose(shape, {4, 4, 4}), "conv_direct");
    EXPECT_EQ(choose(shape, {8, 8, 8}), "conv_direct");
    // A dilation of one tap has no effect; with a stride there is no form.
    EXPECT_EQ(
        choose({.input_channels = 64, .output_channels = 64, .kernel = {1, 3, 3}, .dilation = {9, 1, 1}}, {16, 28, 28}),
        choose({.input_channels = 64, .output_channels = 64, .kernel = {1, 3, 3}}, {16, 28, 28}));
    EXPECT_EQ(
        choose(
            {.input_channels = 64, .output_channels = 64, .kernel = cube, .stride = {2, 2, 2}, .dilation = {2, 2, 2}},
            {16, 28, 28}),
        "conv_direct");
  }
}

TEST(ConvOffers, StridesOfTwoWithManyWeightsTransformFewerAxes) {
  // Along all three axes the weights would be 4.6 times as many, along two they are 2.8 times.
  const ConvShape shape{.input_channels = 128, .output_channels = 256, .kernel = cube, .stride = {2, 2, 2}};
  EXPECT_EQ(tile(shape, {4, 14, 14}), "conv_winograd F(1,2,2)");
  EXPECT_EQ(choose({.input_channels = 256, .output_channels = 512, .kernel = cube, .stride = {2, 2, 2}}, {2, 7, 7}),
            "conv_direct");
}

TEST(ConvOffers, WhatHasNoWinogradFormIsDirect) {
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64, .kernel = cube, .stride = {3, 3, 3}}, {8, 28, 28}),
            "conv_direct");
  EXPECT_EQ(choose({.input_channels = 64, .output_channels = 64}, {8, 28, 28}), "conv_direct");
}

TEST(ConvOffers, CostGrowsWithTheMap) {
  const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube};
  for (const char* kernel : {"conv_direct", "conv_winograd F(2,2,2)", "conv_winograd F(2,2,4)"})
    EXPECT_LT(cost(kernel, shape, v4, {4, 14, 14}), cost(kernel, shape, v4, {8, 14, 14}));
}

// Which kernel a convolution of bytes takes; all weights are equal.
std::string choose_of_bytes(const ConvShape& shape, const Axes& output, int8_t weight, bool output_is_known = true) {
  KernelConvolution convolution{.spec = {}, .shape = shape, .axes = {}};
  const int64_t count = shape.input_channels * shape.output_channels * shape.kernel.product();
  CpuProblem problem;
  problem.bytes =
      std::make_shared<ByteConvolution>(ByteConvolution{std::move(convolution),
                                                        {output, output_is_known},
                                                        std::vector<int8_t>(static_cast<size_t>(count), weight),
                                                        0,
                                                        false});
  Offers offers;
  offer_conv_int8(problem, *find_cpu_machine("znver4"), offers);
  offer_conv_int8_winograd(problem, *find_cpu_machine("znver4"), offers);
  return cheapest(offers, LayoutDemand::blocks)->kernel;
}

TEST(ByteConvOffers, ThreeTapsTakeWinogradWhereSumsFit) {
  const ConvShape shape{.input_channels = 64, .output_channels = 64, .kernel = cube};
  EXPECT_EQ(choose_of_bytes(shape, {16, 56, 56}, 30), "conv_int8_winograd F(2,4,4)");
  // 64 * 27 * 127 * 128 is above 2^24: tiles of 2 along an axis leave two bits more.
  EXPECT_EQ(choose_of_bytes(shape, {16, 56, 56}, 127), "conv_int8_winograd F(2,2,4)");
  EXPECT_EQ(choose_of_bytes({.input_channels = 64, .output_channels = 64, .kernel = {1, 3, 3}}, {8, 56, 56}, 30),
            "conv_int8_winograd F(4,4)");
}

TEST(ByteConvOffers, OtherShapesAndSmallMapsAreDirect) {
  EXPECT_EQ(choose_of_bytes({.input_channels = 64, .output_channels = 64, .kernel = cube, .stride = {2, 2, 2}},
                            {16, 28, 28}, 30),
            "conv_int8");
  EXPECT_EQ(choose_of_bytes({.input_channels = 64, .output_channels = 64}, {16, 28, 28}, 30), "conv_int8");
  EXPECT_EQ(choose_of_bytes({.input_channels = 512, .output_channels = 512, .kernel = cube}, {2, 7, 7}, 30),
            "conv_int8");
  EXPECT_EQ(choose_of_bytes({.input_channels = 1, .output_channels = 32, .kernel = cube}, {64, 64, 64}, 30),
            "conv_int8");
}

}  // namespace
}  // namespace onnxc
