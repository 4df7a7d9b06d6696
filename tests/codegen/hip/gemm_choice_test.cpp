// The model of time beside times measured on an H100: convolutions of 3x3x3 taps as this kernel made them there, by
// mma.sync, by wgmma with four stages, and in float32 by the vector unit. The tiles that were measured in float32 are
// not known.
#include "codegen/hip/gemm/gemm_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace onnxc {
namespace {

using kernels::GemmPlan, kernels::GemmTile, kernels::Products;

struct Layer {
  int64_t channels;
  kernels::Axes extents;
  double float16, xf32, float32;  // microseconds
};

constexpr Layer layers[] = {{64, {16, 56, 56}, 60, 107, 320},   {128, {8, 28, 28}, 27.1, 49, 163},
                            {256, {4, 14, 14}, 20.8, 32, 93.5}, {512, {2, 7, 7}, 16.9, 24, 58},
                            {32, {64, 64, 64}, 121, 204, 619},  {64, {128, 128, 128}, 1759, 3137, 11850}};
// The same by wgmma, but for float32.
constexpr Layer layers_by_wgmma[] = {{64, {16, 56, 56}, 48.9, 78.3, 320},
                                     {128, {8, 28, 28}, 23.2, 33.4, 163},
                                     {512, {2, 7, 7}, 15.4, 20.0, 58},
                                     {64, {128, 128, 128}, 1427, 2366, 11850}};

// An H100 without wgmma.
constexpr GpuMachine h100_by_mma = [] {
  GpuMachine gpu = machine::h100;
  gpu.matrix_unit = machine::MatrixUnit::mma;
  return gpu;
}();

GemmPlan plan_of(const Layer& layer, Products products) {
  return {.shape = {layer.channels, layer.channels, 1, {3, 3, 3}}, .products = products};
}
kernels::ConvSizes sizes_of(const Layer& layer) { return {1, layer.extents, layer.extents, {1, 1, 1}}; }

// With the tiles of the laboratory, which had none of bricks.
constexpr GemmTile laboratory_tiles[] = {{128, 128}, {64, 256}, {256, 64}, {128, 64}, {64, 64}, {128, 32}};
GemmChoice choice(const Layer& layer, Products products, const GpuMachine& gpu) {
  return choose_tile(laboratory_tiles, plan_of(layer, products), {sizes_of(layer), true}, gpu).value();
}
void expect_near(const Layer& layer, Products products, const GpuMachine& gpu, double measured, double share) {
  EXPECT_NEAR(choice(layer, products, gpu).estimate.microseconds / measured, 1.0, share) << layer.channels;
}

TEST(GemmChoice, ExpectsWhatWasMeasuredOnAnH100) {
  for (const Layer& layer : layers) {
    expect_near(layer, Products::float16, h100_by_mma, layer.float16, 0.25);
    expect_near(layer, Products::xf32, h100_by_mma, layer.xf32, 0.25);
    expect_near(layer, Products::float32, h100_by_mma, layer.float32, 0.3);
  }
  for (const Layer& layer : layers_by_wgmma) {
    expect_near(layer, Products::float16, machine::h100, layer.float16, 0.25);
    expect_near(layer, Products::xf32, machine::h100, layer.xf32, 0.25);
    expect_near(layer, Products::float32, machine::h100, layer.float32, 0.3);
  }
}

TEST(GemmChoice, ATallTileIsForNvidiasMatrixUnit) {
  const Layer& large = layers[5];
  const auto tile = [&](const GpuMachine& gpu) { return choice(large, Products::float16, gpu).plan.tile; };
  EXPECT_EQ(tile(machine::h100), (GemmTile{256, 64}));
  EXPECT_EQ(tile(machine::a100), (GemmTile{256, 64}));
  EXPECT_NE(tile(machine::gfx942), (GemmTile{256, 64}));
  // Loads of single elements have no registers to spare.
  GemmPlan planar = plan_of(large, Products::float32);
  planar.input_order = kernels::InputOrder::planar;
  EXPECT_NE(choose_gemm(planar, {sizes_of(large), true}, machine::h100).plan.tile, (GemmTile{256, 64}));
}

// Beside sums of 64 registers operands on their way to LDS would spill (test_registers.py).
TEST(GemmChoice, LargeTilesAreForOperandsThatPassNoRegisters) {
  auto suits = [](const GemmPlan& plan, GemmTile tile, const GpuMachine& gpu) {
    GemmPlan with_tile = plan;
    with_tile.tile = tile;
    return with_tile.has_suitable_tile(gpu);
  };
  constexpr GemmTile tall{256, 64}, square{128, 128}, wide{64, 256}, small{128, 64};
  const GemmPlan exact = plan_of(layers[5], Products::float32), halves = plan_of(layers[5], Products::float16),
                 split = plan_of(layers[5], Products::bf16x3);
  GemmPlan strided = halves, planar = halves, many_taps = halves;
  strided.weight_order = kernels::WeightOrder::strided;
  planar.input_order = kernels::InputOrder::planar;
  many_taps.shape.kernel = {13, 11, 11};
  for (const GpuMachine& gpu : {machine::a100, machine::h100}) {
    for (const GemmTile& tile : {tall, square, wide}) {
      EXPECT_TRUE(suits(halves, tile, gpu));
      for (const GemmPlan& plan : {strided, planar, many_taps}) EXPECT_FALSE(suits(plan, tile, gpu));
    }
    EXPECT_TRUE(suits(exact, tall, gpu) && suits(exact, square, gpu));
    EXPECT_FALSE(suits(exact, wide, gpu));
    EXPECT_TRUE(suits(split, tall, gpu));
    EXPECT_FALSE(suits(split, square, gpu) || suits(split, wide, gpu));
    for (const GemmPlan& plan : {exact, halves, split, strided, planar, many_taps})
      EXPECT_TRUE(suits(plan, small, gpu));
  }
  for (const GemmPlan& plan : {exact, halves, split, strided, planar, many_taps}) {
    EXPECT_TRUE(suits(plan, square, machine::gfx942) && suits(plan, wide, machine::gfx942));
    EXPECT_FALSE(suits(plan, tall, machine::gfx942));
  }
}

TEST(GemmChoice, Cdna4HasTwiceTheProductsOf16BitsAndMoreLds) {
  using kernels::product_cycles;
  const GpuMachine &mi300x = machine::gfx942, &mi355x = machine::gfx950;
  for (const Products products : {Products::float16, Products::bfloat16, Products::bf16x3})
    EXPECT_EQ(2 * product_cycles(products, mi355x), product_cycles(products, mi300x));
  EXPECT_EQ(product_cycles(Products::float32, mi300x), 512);  // 8 of v_mfma_f32_32x32x2_f32, 64 cycles each
  EXPECT_EQ(product_cycles(Products::float32, mi355x), 512);
  EXPECT_EQ(product_cycles(Products::xf32, mi300x), 128);
  // A tile of 24 KiB: LDS of 64 KiB holds two, that of 160 KiB six.
  const GemmPlan wide{.shape = {64, 256, 1, {3, 3, 3}}, .products = Products::float16, .tile = {128, 256}};
  EXPECT_EQ(wide.lds_bytes(mi300x), 24 * 1024);
  EXPECT_EQ(wide.blocks_by_lds(mi300x), 2);
  EXPECT_EQ(wide.blocks_by_lds(mi355x), 6);
}

TEST(GemmChoice, TheStagesOfACopyFitABlock) {
  for (const GemmTile& tile : kernels::gemm_tiles)
    for (const Products products : {Products::float32, Products::xf32, Products::float16, Products::bfloat16}) {
      const GemmPlan plan{.shape = {64, 64, 1, {3, 3, 3}}, .products = products, .tile = tile};
      EXPECT_TRUE(plan.copies(machine::sm_80));
      EXPECT_GE(plan.stages(machine::sm_80), 2);
      EXPECT_LE(plan.lds_bytes(machine::sm_80), machine::sm_80.block_lds_bytes);
      EXPECT_EQ(plan.stages(machine::gfx942), 1);
    }
  const GemmPlan split{.shape = {64, 64, 1, {3, 3, 3}}, .products = Products::bf16x3};
  EXPECT_EQ(split.stages(machine::sm_80), 1);
}

TEST(GemmChoice, OnHopperTheLaunchAsksForFourStages) {
  const GemmChoice large = choice(layers[5], Products::float16, machine::h100);
  EXPECT_EQ(large.plan.tile, (GemmTile{256, 64}));
  EXPECT_EQ(large.plan.stages(machine::h100), 4);
  EXPECT_EQ(large.lds_bytes, 4 * (256 + 64) * 64);
  EXPECT_EQ(large.launch_lds_bytes, large.lds_bytes);
  EXPECT_EQ(choice(layers[5], Products::float16, machine::a100).launch_lds_bytes, 0);
  EXPECT_EQ(choice(layers[5], Products::float32, machine::h100).launch_lds_bytes, 0);
  // Operands that go through registers are multiplied by mma.sync.
  GemmPlan planar = plan_of(layers[5], Products::float16);
  planar.input_order = kernels::InputOrder::planar;
  GemmPlan computed = plan_of(layers[5], Products::float16);
  computed.weight_order = kernels::WeightOrder::computed;
  for (const GemmPlan& plan : {planar, computed, plan_of(layers[5], Products::bf16x3)}) {
    EXPECT_FALSE(plan.uses_wgmma(machine::h100));
    EXPECT_EQ(plan.product_cycles(machine::h100), plan.product_cycles(h100_by_mma));
  }
}

TEST(GemmChoice, OnHopperTapsShareAHalo) {
  const kernels::ConvSizes sizes = sizes_of(layers[5]);
  const auto chosen = [&](const GemmPlan& plan, const GpuMachine& gpu) {
    return choose_gemm(plan, {sizes, true}, gpu);
  };
  for (const Products products : {Products::float16, Products::bfloat16, Products::xf32, Products::bf16x3}) {
    const GemmPlan plan = plan_of(layers[5], products);
    const GemmChoice in_bricks = chosen(plan, machine::h100),
                     without = choose_tile(kernels::gemm_tiles, plan, {sizes, true}, machine::h100).value();
    EXPECT_TRUE(in_bricks.plan.has_halo());
    EXPECT_EQ(in_bricks.plan.brick.product(), in_bricks.plan.tile.rows);
    EXPECT_LT(in_bricks.estimate.microseconds, 0.6 * without.estimate.microseconds);
    EXPECT_EQ(in_bricks.launch_lds_bytes, in_bricks.lds_bytes);
    EXPECT_GE(in_bricks.plan.blocks_a_unit(machine::h100), 2);
    EXPECT_FALSE(chosen(plan, machine::a100).plan.has_halo());
    EXPECT_FALSE(chosen(plan, machine::gfx942).plan.has_halo());
  }
  EXPECT_EQ(chosen(plan_of(layers[5], Products::float16), machine::h100).estimate.bound, GpuBound::lds);
  GemmPlan strided = plan_of(layers[5], Products::float16), transposed = strided, computed = strided,
           pointwise = strided, pair_of_taps = strided;
  strided.shape.stride = {1, 1, 2};
  transposed.transposed = true;
  computed.weight_order = kernels::WeightOrder::computed;
  pointwise.shape.kernel = {1, 1, 1};
  pair_of_taps.shape.kernel = {2, 1, 1};
  for (const GemmPlan& plan : {strided, transposed, computed, pointwise, pair_of_taps})
    EXPECT_FALSE(chosen(plan, machine::h100).plan.has_halo());
}

// A part of a reduction has whole pairs of blocks of channels.
TEST(GemmChoice, PartsOfAHaloAreAtMostItsPairs) {
  for (const int64_t channels : {16, 32, 64, 96, 512}) {
    GemmPlan plan{.shape = {channels, 64, 1, {3, 3, 3}},
                  .products = Products::float16,
                  .tile = {128, 64},
                  .is_split = true,
                  .brick = {2, 8, 8}};
    EXPECT_EQ(plan.parts(1, machine::h100), std::min(kernels::divide_up(channels, 32), plan.steps() / 8));
  }
}

TEST(GemmChoice, AWarpgroupHasSixtyFourRowsOrAMultiple) {
  for (const GemmTile& tile : kernels::gemm_tiles) {
    EXPECT_EQ(tile.warpgroup_rows() % 64, 0);
    EXPECT_EQ(2 * tile.warpgroup_rows() * tile.warpgroup_columns(), tile.rows * tile.columns);
    EXPECT_EQ(tile.rows % tile.warpgroup_rows(), 0);
    EXPECT_EQ(tile.columns % tile.warpgroup_columns(), 0);
  }
}

}  // namespace
}  // namespace onnxc
