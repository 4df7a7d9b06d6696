// The model of time beside times measured on an H100: convolutions of 3x3x3 taps as this kernel made them there, by
// mma.sync, and in float32 by the vector unit. The tiles that were measured in float32 are not known.
#include "codegen/hip/gemm/gemm_choice.h"

#include <gtest/gtest.h>

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

GemmPlan plan_of(const Layer& layer, Products products) {
  return {.shape = {layer.channels, layer.channels, 1, {3, 3, 3}}, .products = products};
}
kernels::ConvSizes sizes_of(const Layer& layer) { return {1, layer.extents, layer.extents, {1, 1, 1}}; }

double chosen(const Layer& layer, Products products) {
  return choose_gemm(plan_of(layer, products), {sizes_of(layer), true}, machine::h100).estimate.microseconds;
}

TEST(GemmChoice, ExpectsWhatWasMeasuredOnAnH100) {
  for (const Layer& layer : layers) {
    EXPECT_NEAR(chosen(layer, Products::float16) / layer.float16, 1.0, 0.25) << layer.channels;
    EXPECT_NEAR(chosen(layer, Products::xf32) / layer.xf32, 1.0, 0.25) << layer.channels;
    EXPECT_NEAR(chosen(layer, Products::float32) / layer.float32, 1.0, 0.3) << layer.channels;
  }
}

TEST(GemmChoice, ATallTileIsForNvidiasMatrixUnit) {
  const Layer& large = layers[5];
  const auto tile = [&](const GpuMachine& gpu) {
    return choose_gemm(plan_of(large, Products::float16), {sizes_of(large), true}, gpu).plan.tile;
  };
  EXPECT_EQ(tile(machine::h100), (GemmTile{256, 64}));
  EXPECT_EQ(tile(machine::a100), (GemmTile{256, 64}));
  EXPECT_NE(tile(machine::gfx942), (GemmTile{256, 64}));
  // Loads of single elements have no registers to spare.
  GemmPlan planar = plan_of(large, Products::float32);
  planar.input_order = kernels::InputOrder::planar;
  EXPECT_NE(choose_gemm(planar, {sizes_of(large), true}, machine::h100).plan.tile, (GemmTile{256, 64}));
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

}  // namespace
}  // namespace onnxc
