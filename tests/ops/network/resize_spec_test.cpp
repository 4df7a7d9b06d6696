#include "ops/network/resize_spec.h"

#include <cmath>
#include <tuple>

#include "ops/op_test.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

ResizeSpec resolve(const OneNode& node) { return resolve_resize(NodeReader(node.node())); }

std::string fault(const OneNode& node) {
  try {
    resolve(node);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

struct Resize : OneNode {
  explicit Resize(int version = 19) : OneNode("Resize", version) {
    input(DType::float32, {1, 2, 6, Expr(Symbol::dim("W"))});
  }
};
struct Scaled : Resize {
  explicit Scaled(int version = 19, std::vector<float> scales = {1, 1, 0.5F, 0.25F}) : Resize(version) {
    if (version >= 11) absent();
    constant(Tensor::of(DType::float32, {4}, scales));
  }
};
struct Sized : Resize {
  explicit Sized(const std::vector<int64_t>& sizes) {
    absent().absent().constant(Tensor::of(DType::int64, {std::ssize(sizes)}, sizes));
  }
};

std::vector<std::string> outputs(const ResizeSpec& spec) {
  std::vector<std::string> texts;
  for (const ResizeAxis& axis : spec.axes) texts.push_back(axis.output.to_string());
  return texts;
}

TEST(ResizeSpec, ScalesGiveSizes) {
  const ResizeSpec spec = resolve(Scaled());
  EXPECT_THAT(outputs(spec), testing::ElementsAre("1", "2", "3", "W//4"));
  EXPECT_EQ(spec.axes[2].scale, 0.5F);
  EXPECT_TRUE(spec.axes[1].is_kept());
  EXPECT_FALSE(spec.axes[2].is_kept());
}

// The size of a free axis by a scale; "run" if only a run knows it.
std::string scaled(const Expr& extent, float scale) {
  OneNode node("Resize", 19);
  node.input(DType::float32, {extent}).absent().constant(Tensor::of(DType::float32, {1}, std::vector<float>{scale}));
  const ResizeAxis axis = resolve(node).axes[0];
  return axis.is_sized_by_run ? "run" : axis.output.to_string();
}

TEST(ResizeSpec, ASizeIsAnExpressionWhereItsProductIsNeverRounded) {
  const Expr free = Symbol::dim("W"), bounded = Symbol::dim("B", {1, 512});
  EXPECT_EQ(scaled(free, 2), "2*W");
  EXPECT_EQ(scaled(free, 3), "3*W");
  EXPECT_EQ(scaled(free, 0.5F), "W//2");
  EXPECT_EQ(scaled(2 * free + 1, 0.5F), ((2 * free + 1) - (free + 1)).to_string());
  for (const float scale : {0.7F, 0.9F, 1.1F, 1.9F, 2.3F, 1.5F, 0.75F, 1.0F / 3, 1e-30F})
    EXPECT_EQ(scaled(free, scale), "run") << scale;
  EXPECT_EQ(scaled(bounded, 1.5F), "(3*B)//2");
  EXPECT_EQ(scaled(bounded, 0.7F), "run");
}

// 1.5 is not an expression for every extent: from 2^23 on a half is rounded to the nearest even integer.
TEST(ResizeSpec, TheFloat32ProductOfALargeExtentIsRounded) {
  constexpr int64_t extent = 5592409;
  EXPECT_EQ(scaled(extent, 1.5F), "8388614");
  EXPECT_EQ(extent * 3 / 2, 8388613);
}

TEST(ResizeSpec, ASizeByAScaleIsTheFloat32Product) {
  EXPECT_EQ(scaled(10, 0.7F), "7");
  EXPECT_EQ(scaled(20, 0.7F), "14");
  EXPECT_EQ(scaled(10, 1.9F), "19");
  for (const auto& [scale, numerator, denominator] :
       {std::tuple(0.5F, 1, 2), {0.25F, 1, 4}, {1.0F, 1, 1}, {2.0F, 2, 1}})
    for (int64_t extent = (int64_t{1} << 24) - 1; extent > (int64_t{1} << 24) - 2000; --extent)
      ASSERT_EQ(static_cast<int64_t>(std::floor(static_cast<float>(extent) * scale)), extent * numerator / denominator);
}

TEST(ResizeSpec, SizesLeaveTheScaleToTheRun) {
  const ResizeSpec spec = resolve(Sized({1, 2, 9, 4}));
  EXPECT_THAT(outputs(spec), testing::ElementsAre("1", "2", "9", "4"));
  EXPECT_EQ(spec.axes[2].scale, std::nullopt);
}

TEST(ResizeSpec, OnlyTheNamedAxesAreResized) {
  Resize node;
  node.absent().absent().constant(int64s({1}, {9})).attribute("axes", std::vector<int64_t>{-2});
  EXPECT_THAT(outputs(resolve(node)), testing::ElementsAre("1", "2", "9", "W"));
}

TEST(ResizeSpec, ModesHaveTheirDefaultsSinceVersion11) {
  const ResizeSpec spec = resolve(Scaled());
  EXPECT_EQ(spec.interpolation, Interpolation::nearest);
  EXPECT_EQ(spec.coordinates, Coordinates::half_pixel);
  EXPECT_EQ(spec.nearest_mode, NearestMode::round_prefer_floor);
  const ResizeSpec before = resolve(Scaled(10));
  EXPECT_EQ(before.coordinates, Coordinates::asymmetric);
  EXPECT_EQ(before.nearest_mode, NearestMode::by_direction);
}

TEST(ResizeSpec, UpsampleHasItsScalesInThreePlaces) {
  OneNode inputs("Upsample", 9), list("Upsample", 7), two("Upsample", 1);
  for (OneNode* node : {&inputs, &list, &two}) node->input(DType::float32, {1, 2, 6, 4});
  inputs.constant(float32s({4}, {1, 1, 2, 3}));
  list.attribute("scales", std::vector<float>{1, 1, 2, 3});
  two.attribute("height_scale", 2.0F).attribute("width_scale", 3.0F);
  for (const OneNode* node : {&inputs, &list, &two})
    EXPECT_THAT(outputs(resolve(*node)), testing::ElementsAre("1", "2", "12", "12"));
}

TEST(ResizeSpec, AntialiasesOnlyWhatShrinksAndIsInterpolated) {
  auto antialiased = [](const std::vector<int64_t>& sizes, const char* mode) {
    OneNode node("Resize", 19);
    node.input(DType::float32, {1, 2, 6, 4}).absent().absent().constant(int64s({4}, sizes));
    node.attribute("antialias", int64_t{1}).attribute("mode", std::string(mode));
    return resolve(node).antialias;
  };
  EXPECT_TRUE(antialiased({1, 2, 3, 8}, "linear"));
  EXPECT_FALSE(antialiased({1, 2, 3, 8}, "nearest"));
  EXPECT_FALSE(antialiased({1, 2, 12, 8}, "cubic"));
}

TEST(ResizeSpec, KeepsTheAspectRatio) {
  auto kept = [](const char* policy) {
    OneNode node("Resize", 19);
    node.input(DType::float32, {6, 4}).absent().absent().constant(int64s({2}, {12, 12}));
    return outputs(resolve(node.attribute("keep_aspect_ratio_policy", std::string(policy))));
  };
  EXPECT_THAT(kept("stretch"), testing::ElementsAre("12", "12"));
  EXPECT_THAT(kept("not_larger"), testing::ElementsAre("12", "8"));
  EXPECT_THAT(kept("not_smaller"), testing::ElementsAre("18", "12"));
}

TEST(ResizeSpec, ScalesAndARegionMayBeKnownToTheRunAlone) {
  OneNode node("Resize", 19), three_scales("Resize", 19);
  node.input(DType::float32, {1, 2, 6, 4}).input(DType::float32, {8}).input(DType::float32, {4});
  node.attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  three_scales.input(DType::float32, {1, 2, 6, 4}).absent().input(DType::float32, {3});
  const ResizeSpec spec = resolve(node);
  EXPECT_TRUE(spec.axes[3].is_sized_by_run);
  EXPECT_EQ(spec.scales_input, 2);
  EXPECT_EQ(spec.roi_input, 1);
  EXPECT_EQ(spec.axes[3].place, 3);
  EXPECT_THAT(fault(three_scales),
              HasSubstr("scales) is known only when the model runs; it must have shape [4], found [3]"));
}

TEST(ResizeSpec, Faults) {
  EXPECT_THAT(fault(Sized({1, 2, 9, 4}).attribute("keep_aspect_ratio_policy", std::string("both"))),
              HasSubstr("keep_aspect_ratio_policy must be one of stretch, not_larger, not_smaller, found 'both'"));
  EXPECT_THAT(fault(Scaled().attribute("mode", std::string("area"))),
              HasSubstr("mode must be one of nearest, linear, cubic, found 'area'"));
  EXPECT_THAT(fault(Scaled().attribute("nearest_mode", std::string("up"))),
              HasSubstr("nearest_mode must be one of round_prefer_floor, round_prefer_ceil, floor, ceil, found 'up'"));
  EXPECT_THAT(fault(Scaled().attribute("coordinate_transformation_mode", std::string("pixel"))),
              HasSubstr("coordinate_transformation_mode 'pixel' is not one that ONNX defines"));
  EXPECT_THAT(fault(Sized({1, 2, 9})), HasSubstr("3 sizes are given for 4 axes"));
  EXPECT_THAT(fault(Resize()), HasSubstr("neither scales nor sizes are given"));
  EXPECT_THAT(fault(Scaled().attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"))),
              HasSubstr("0 values of roi are given for 4 axes"));
  EXPECT_THAT(fault(Scaled(19, {1, 1, -1, 1})), HasSubstr("a scale of -1; a positive value"));
}

}  // namespace
}  // namespace onnxc
