#include "passes/fold_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_builder.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

void infer_and_fold(Graph& graph, const FoldLimits& limits = {}) {
  infer_shapes(graph);
  fold_constants(graph, limits);
  verify(graph);
}

std::vector<std::string> node_types(const Graph& graph) {
  std::vector<std::string> types;
  for (const auto& node : graph.nodes()) types.push_back(node->origin.type);
  return types;
}

TEST(FoldConstants, ComputesChainsOfConstants) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {2, 3});
  Value* weight = builder.constant<float>(DType::float32, {3, 2}, {1, 2, 3, 4, 5, 6});
  Value* turned = builder.node("Transpose", {weight}, {{"perm", std::vector<int64_t>{1, 0}}});
  Value* doubled = builder.node("Add", {turned, turned});
  builder.output(builder.node("Mul", {x, doubled}));
  infer_and_fold(builder.graph);
  EXPECT_THAT(node_types(builder.graph), ElementsAre("Mul"));
  const Value* folded = builder.graph.nodes().front()->inputs[1];
  ASSERT_TRUE(folded->constant.has_value());
  EXPECT_THAT(folded->constant->dims(), ElementsAre(2, 3));
  EXPECT_THAT(folded->constant->values<float>(), ElementsAre(2, 6, 10, 4, 8, 12));
}

TEST(FoldConstants, AConstantMayBecomeAnOutputOfTheModel) {
  GraphBuilder builder;
  Value* a = builder.constant<float>(DType::float32, {2}, {1, 2});
  Value* sum = builder.node("Add", {a, a});
  const std::string name = sum->name;
  builder.output(sum);
  infer_and_fold(builder.graph);
  EXPECT_TRUE(builder.graph.nodes().empty());
  ASSERT_TRUE(builder.graph.outputs[0]->constant.has_value());
  EXPECT_EQ(builder.graph.outputs[0]->name, name);
  EXPECT_THAT(builder.graph.outputs[0]->constant->values<float>(), ElementsAre(2, 4));
}

TEST(FoldConstants, KnownShapesBecomeConstants) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {2, 3, 4});
  Value* dims = builder.node("Shape", {x});
  Value* last = builder.node("Gather", {dims, builder.integers({2})});
  Value* target = builder.node("Concat", {last, builder.integers({-1})}, {{"axis", int64_t{0}}});
  builder.output(builder.node("Reshape", {x, target}));
  infer_and_fold(builder.graph);
  EXPECT_THAT(node_types(builder.graph), ElementsAre("Reshape"));
  EXPECT_EQ(to_string(*builder.graph.outputs[0]->shape), "[4, 6]");
  EXPECT_THAT(builder.graph.nodes().front()->inputs[1]->constant->as_int64(), ElementsAre(4, -1));
}

TEST(FoldConstants, WhatGrowsIsLeftToTheRun) {
  GraphBuilder builder;
  Value* one = builder.constant<float>(DType::float32, {1}, {1});
  Value* small = builder.node("Expand", {one, builder.integers({100})});
  Value* large = builder.node("Expand", {one, builder.integers({100000})});
  builder.output(small);
  builder.output(large);
  infer_and_fold(builder.graph);
  EXPECT_THAT(node_types(builder.graph), ElementsAre("Expand"));
  EXPECT_TRUE(builder.graph.outputs[0]->constant.has_value());
  EXPECT_FALSE(builder.graph.outputs[1]->constant.has_value());
}

TEST(FoldConstants, WhatIsLargeOrTakesLongIsLeftToTheRun) {
  auto folds = [](const FoldLimits& limits) {
    GraphBuilder builder;
    std::vector<float> values(200, 1.0f);
    Value* a = builder.constant(DType::float32, {200}, values);
    builder.output(builder.node("Neg", {a}));
    infer_and_fold(builder.graph, limits);
    return builder.graph.nodes().empty();
  };
  EXPECT_TRUE(folds({}));
  EXPECT_TRUE(folds({.maximum_bytes = 800, .always_bytes = 0}));
  EXPECT_FALSE(folds({.maximum_bytes = 799, .always_bytes = 0}));
  EXPECT_FALSE(folds({.maximum_steps = 199}));
}

TEST(FoldConstants, WidensWeights) {
  GraphBuilder builder;
  std::vector<int8_t> values(20000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(i % 251 - 125);
  Value* weight = builder.constant(DType::int8, {20000}, values);
  builder.output(builder.node("Cast", {weight}, {{"to", int64_t{1}}}));
  infer_and_fold(builder.graph);
  ASSERT_TRUE(builder.graph.outputs[0]->constant.has_value());
  EXPECT_THAT(builder.graph.outputs[0]->constant->values<float>(), ElementsAreArray(values));
}

}  // namespace
}  // namespace onnxc
