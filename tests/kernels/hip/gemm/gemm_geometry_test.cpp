// The implicit-GEMM kernel's geometry as pure functions: every element of the reduction has one place, every block of a
// launch is one tile, and what is chosen fits the GPU.
#include "kernels/hip/gemm/gemm_geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "codegen/hip/gemm/gemm_choice.h"
#include "machine/gpu_machines.h"

namespace onnxc {
namespace {

using kernels::GemmPlan;
using kernels::InputOrder;
using kernels::Products;
using machine::gfx1100;
using machine::gfx942;

kernels::ConvSizes rows(int64_t count) { return {1, {1, 1, count}, {1, 1, count}, {0, 0, 0}}; }

std::vector<GemmPlan> plans() {
  std::vector<GemmPlan> plans;
  for (const Products products : {Products::float32, Products::bf16x3, Products::float16})
    for (const int64_t channels : {1, 3, 16, 17, 32, 48, 112, 144})
      for (const kernels::Axes& kernel : {kernels::Axes{1, 1, 1}, kernels::Axes{3, 3, 3}, kernels::Axes{1, 2, 5}})
        for (const InputOrder order : {InputOrder::blocks, InputOrder::elements, InputOrder::planar})
          for (const bool transposed : {false, true}) {
            if (transposed && order != InputOrder::blocks) continue;
            plans.push_back({.shape = {channels, 24, 1, kernel, {2, 2, 2}, {1, 1, 1}},
                             .transposed = transposed,
                             .products = products,
                             .input_order = order});
          }
  return plans;
}

TEST(GemmGeometry, EachTapAndChannelHasOnePlaceInTheReduction) {
  for (const GemmPlan& plan : plans()) {
    std::set<std::pair<int32_t, int32_t>> seen;
    for (int32_t step = 0; step < plan.steps(); ++step)
      for (int32_t k = 0; k < plan.depth(); ++k) {
        const GemmPlan::Place at = plan.place(step, k);
        if (plan.is_inside(at)) EXPECT_TRUE(seen.emplace(at.tap, at.channel).second);
      }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), plan.taps() * plan.shape.input_channels);
  }
}

TEST(GemmGeometry, EvenPartsOfAStepAreAtOneTapWhereTheKernelCountsOn) {
  for (const GemmPlan& plan : plans()) {
    if (plan.input_order != InputOrder::blocks || !plan.pairs_blocks()) continue;
    for (int32_t step = 0; step < plan.steps(); ++step)
      for (int32_t k = 0; k < plan.depth(); ++k) EXPECT_EQ(plan.place(step, k).tap, step % plan.taps());
  }
}

TEST(GemmGeometry, ATapIsAsMuchFurtherInAHaloForEachRow) {
  for (const kernels::Axes& brick : kernels::bricks)
    for (const kernels::Axes& kernel : {kernels::Axes{3, 3, 3}, kernels::Axes{1, 2, 5}})
      for (const kernels::Axes& dilation : {kernels::Axes{1, 1, 1}, kernels::Axes{2, 3, 1}}) {
        const kernels::Halo halo{brick, kernel, dilation, 2, false};
        const kernels::Axes size = halo.voxels();
        const kernels::Axes tap{(kernel.d - 1) * dilation.d, (kernel.h - 1) * dilation.h, (kernel.w - 1) * dilation.w};
        for (int64_t row = 0; row < brick.product(); ++row) {
          const kernels::Axes at{row / (brick.h * brick.w), row / brick.w % brick.h, row % brick.w};
          const int64_t as_read = halo.offset_of_rows(row / 64) + row % 64 / 8 * halo.line_bytes() +
                                  row % 8 * kernels::matrix_row_bytes + halo.offset(tap.d, tap.h, tap.w),
                        voxel = ((at.d + tap.d) * size.h + at.h + tap.h) * size.w + at.w + tap.w;
          EXPECT_EQ(as_read, voxel * kernels::matrix_row_bytes);
          EXPECT_LT(voxel, size.product());
        }
        EXPECT_GE(halo.plane_bytes(), size.product() * kernels::matrix_row_bytes);
      }
}

// Eight threads write 16 bytes each at once, all banks are 128 bytes.
TEST(GemmGeometry, CopiesToAHaloMeetDifferentBanks) {
  for (const int64_t blocks : {1, 2})
    for (const kernels::Axes& brick : kernels::bricks) {
      const kernels::Halo halo{brick, {3, 3, 3}, {1, 1, 1}, blocks, false};
      std::set<int64_t> banks;
      for (int64_t thread = 0; thread < 8; ++thread) {
        const int64_t chunk = thread % halo.block_chunks(), voxel = thread / halo.block_chunks();
        banks.insert((chunk * halo.plane_bytes() + voxel * 16) % 128 / 16);
      }
      EXPECT_EQ(banks.size(), 8);
    }
}

TEST(GemmGeometry, BricksCoverTheOutput) {
  const GemmPlan plan{.shape = {64, 80, 1, {3, 3, 3}}, .tile = {256, 64}, .brick = {4, 8, 8}};
  const kernels::ConvSizes sizes{2, {5, 16, 9}, {5, 16, 9}, {1, 1, 1}};
  EXPECT_EQ(plan.row_tiles(sizes.output), (kernels::Axes{2, 2, 2}));
  EXPECT_EQ(plan.tiles(sizes), 2 * 8 * 2);
}

TEST(GemmGeometry, BlocksAreDealtToXcdsOnceEach) {
  for (const uint32_t blocks : {1, 7, 8, 9, 15, 16, 17, 304, 305, 1000, 1001}) {
    std::set<uint32_t> seen;
    for (uint32_t dealt = 0; dealt < blocks; ++dealt) {
      const uint32_t block = kernels::block_of_xcd(dealt, blocks, gfx942.xcds);
      EXPECT_LT(block, blocks);
      seen.insert(block);
    }
    EXPECT_EQ(seen.size(), blocks);
  }
  // Those that one XCD gets follow one another.
  EXPECT_EQ(kernels::block_of_xcd(8, 80, gfx942.xcds), kernels::block_of_xcd(0, 80, gfx942.xcds) + 1);
}

TEST(GemmGeometry, SizesBeyond32BitsGiveNoLaunch) {
  const GemmPlan plan{.shape = {16, 16}};
  const int64_t large = int64_t{1} << 31;
  EXPECT_EQ(plan.blocks({1, {1, 1, large}, {1, 1, large}, {0, 0, 0}}, gfx942), INT64_MAX);
  EXPECT_EQ(plan.blocks({1, {1, 1, 1000}, {1, 1, 1000}, {0, 0, 0}}, gfx942), 8);
  EXPECT_EQ(plan.blocks({0, {1, 1, 1000}, {1, 1, 1000}, {0, 0, 0}}, gfx942), 0);
}

TEST(GemmGeometry, PartsFillTheGpuAndAreNotTooShort) {
  GemmPlan plan{.shape = {256, 256, 1, {3, 3, 3}}, .tile = {64, 64}};
  EXPECT_EQ(plan.parts(16, gfx942), 1);
  plan.is_split = true;
  for (const int64_t tiles : {1, 5, 16, 52, 196, 304, 305, 608, 609, 100000}) {
    const int64_t parts = plan.parts(tiles, gfx942);
    EXPECT_GE(parts, 1);
    EXPECT_TRUE(parts == 1 || parts * tiles <= kernels::blocks_of_parts(gfx942));
    EXPECT_LE(parts * kernels::least_part_steps, plan.steps());
    EXPECT_EQ(plan.workspace_count(tiles, gfx942), parts == 1 ? 0 : parts * tiles * 64 * 64);
    EXPECT_LE(plan.workspace_count(tiles, gfx942), plan.most_workspace_count(gfx942));
  }
  EXPECT_EQ(plan.parts(52, gfx942), 11);
  EXPECT_EQ(plan.parts(305, gfx942), 1);
  EXPECT_EQ(plan.blocks(rows(13 * 64), gfx942), 52 * 11);
  EXPECT_EQ(plan.combining_blocks(rows(13 * 64), gfx942), 52 * 4);
  EXPECT_EQ(plan.combining_blocks(rows(1 << 20), gfx942), 0);
  EXPECT_EQ(plan.blocks(rows(0), gfx942), 0);
}

TEST(GemmGeometry, PartsAreAsManyAsTheGpuHasUnitsFor) {
  const GemmPlan plan{.shape = {256, 256, 1, {3, 3, 3}}, .tile = {64, 64}, .is_split = true};
  EXPECT_EQ(plan.parts(20, gfx942), 30);  // 2 * 304 / 20
  EXPECT_EQ(plan.parts(20, machine::gfx90a), 11);
  EXPECT_EQ(plan.parts(20, gfx1100), 4);
}

TEST(GemmChoice, FitsTheLimitsForEveryShape) {
  for (const GemmPlan& plan : plans())
    for (const int64_t count : {0, 1, 63, 64, 65, 4096, 1 << 20}) {
      for (const bool are_known : {true, false}) {
        const GemmChoice choice = choose_gemm(plan, {rows(count), are_known}, gfx942);
        EXPECT_LE(choice.lds_bytes, 65536);
        EXPECT_LE(choice.threads, 1024);
        EXPECT_GT(choice.estimate.microseconds, 0);
        EXPECT_EQ(choice.lds_bytes, kernels::gemm_lds_bytes(choice.plan.tile));
        EXPECT_EQ(choice.workspace_count, are_known
                                              ? choice.plan.workspace_count(choice.plan.tiles(rows(count)), gfx942)
                                              : choice.plan.most_workspace_count(gfx942));
      }
    }
}

TEST(GemmChoice, TakesLargeTilesForLargeProductsAndSmallOnesForSmall) {
  auto tile = [](int64_t channels, int64_t filters, int64_t count, Products products) {
    const GemmPlan plan{.shape = {channels, filters, 1, {3, 3, 3}}, .products = products};
    return choose_gemm(plan, {rows(count), true}, gfx942).plan.tile;
  };
  EXPECT_EQ(tile(512, 512, 1 << 20, Products::float16), (kernels::GemmTile{256, 128}));
  EXPECT_EQ(tile(512, 512, 256, Products::float32), (kernels::GemmTile{64, 64}));
  EXPECT_EQ(tile(64, 64, 1 << 20, Products::float32).columns, 64);
  EXPECT_EQ(tile(32, 32, 1 << 20, Products::float32).columns, 32);
}

TEST(GemmChoice, CutsTheReductionWhereTilesAreFew) {
  const GemmPlan plan{.shape = {256, 256, 1, {3, 3, 3}}};
  EXPECT_TRUE(choose_gemm(plan, {rows(784), true}, gfx942).plan.is_split);
  EXPECT_FALSE(choose_gemm(plan, {rows(1 << 20), true}, gfx942).plan.is_split);
  EXPECT_TRUE(choose_gemm(plan, {rows(1 << 20), false}, gfx942).plan.is_split);
  const GemmPlan pointwise{.shape = {64, 64}};
  EXPECT_FALSE(choose_gemm(pointwise, {rows(100), true}, gfx942).plan.is_split);
  EXPECT_FALSE(choose_gemm(pointwise, {rows(100), false}, gfx942).plan.is_split);
}

TEST(GemmChoice, OnRdnaTheVectorUnitMultipliesFloat32) {
  const GemmPlan deep{.shape = {512, 512, 1, {3, 3, 3}}};
  const GpuEstimate slow = choose_gemm(deep, {rows(1 << 20), true}, gfx1100).estimate;
  EXPECT_EQ(slow.bound, GpuBound::vector_unit);
  // At least 2^20 rows x 512 x 27 x 512 products, 128 of a work group processor in a cycle.
  EXPECT_GT(slow.cycles, std::ldexp(27.0, 20 + 18 - 7) / 48);
  EXPECT_LT(slow.cycles, std::ldexp(27.0, 20 + 18 - 7) / 48 * 1.1);
}

// A work group processor makes 512 products in a cycle on RDNA3, 1,024 on RDNA4; bf16x3 takes three.
TEST(GemmChoice, OnRdnaTheMatrixUnitMultipliesTheRest) {
  const auto cycles = [](Products products, const machine::GpuMachine& gpu) {
    const GemmPlan deep{.shape = {512, 512, 1, {3, 3, 3}}, .products = products};
    const GpuEstimate estimate = choose_gemm(deep, {rows(1 << 20), true}, gpu).estimate;
    EXPECT_EQ(estimate.bound, GpuBound::matrix_unit);
    return estimate.cycles * gpu.compute_units / std::ldexp(27.0, 20 + 18);
  };
  const auto expect_rate = [&](Products products, const machine::GpuMachine& gpu, double rate) {
    EXPECT_NEAR(cycles(products, gpu) * rate, 1.05, 0.05) << gpu.name;
  };
  for (const Products halves : {Products::float16, Products::bfloat16}) {
    expect_rate(halves, gfx1100, 512);
    expect_rate(halves, machine::gfx1201, 1024);
  }
  expect_rate(Products::bf16x3, gfx1100, 512.0 / 3);
  expect_rate(Products::bf16x3, machine::gfx1201, 1024.0 / 3);
  expect_rate(Products::int8, gfx1100, 512);
}

TEST(GemmChoice, FitsTheLimitsOfEachGpu) {
  for (const machine::GpuMachine& gpu : machine::gpu_machines)
    for (const GemmPlan& plan : plans()) {
      const GemmChoice choice = choose_gemm(plan, {rows(4096), true}, gpu);
      EXPECT_LE(2 * choice.lds_bytes, gpu.lds_bytes);
      EXPECT_LE(choice.waves, gpu.waves_per_simd);
      EXPECT_GE(choice.waves, 2 * kernels::block_waves(gpu));
      EXPECT_GT(choice.estimate.microseconds, 0);
      EXPECT_TRUE(std::isfinite(choice.estimate.microseconds));
    }
}

TEST(GemmChoice, ADynamicBoundIsNamed) {
  const GemmPlan pointwise{.shape = {16, 16, 1, {1, 1, 1}}, .products = Products::float16};
  EXPECT_EQ(choose_gemm(pointwise, {rows(1 << 26), true}, gfx942).estimate.bound, GpuBound::latency);
  const GemmPlan deep{.shape = {512, 512, 1, {3, 3, 3}}};
  EXPECT_EQ(choose_gemm(deep, {rows(1 << 20), true}, gfx942).estimate.bound, GpuBound::matrix_unit);
}

TEST(GemmPlan, CountsOnFewerWavefrontsWhereHalvesAreLoadedOneByOne) {
  GemmPlan plan{.shape = {343, 12, 3, {1, 1, 1}}, .products = Products::float16, .tile = {64, 64}};
  EXPECT_EQ(plan.waves(gfx942), 6);
  plan.input_order = InputOrder::elements;
  EXPECT_EQ(plan.waves(gfx942), 5);  // of an odd depth clang takes 89 registers
  plan.products = Products::float32;
  EXPECT_EQ(plan.waves(gfx942), 6);
}

TEST(GemmPlan, CountsOnNoMoreWavefrontsThanBlocksFitLds) {
  const GemmPlan plan{.shape = {16, 16, 1, {3, 3, 3}}, .products = Products::float16, .tile = {128, 32}};
  EXPECT_EQ(plan.tile.waves(gfx942), 6);
  EXPECT_EQ(plan.waves(gfx942), 5);  // of 12 KiB each
  EXPECT_EQ(plan.blocks_a_unit(gfx942), 5);
}

}  // namespace
}  // namespace onnxc
