#include "passes/infer_shapes.h"

#include <gtest/gtest.h>

#include "passes/graph_builder.h"

namespace onnxc {
namespace {

const Expr n = Symbol::dim("N"), d = Symbol::dim("D"), h = Symbol::dim("H");

std::string shape_of(const Value* value) { return to_string(*value->shape); }

// How exporters write view(x.shape[0], -1, 2 * x.shape[2]).
TEST(InferShapes, FollowsShapeArithmeticIntoReshape) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 4, d});
  Value* dims = builder.node("Shape", {x});
  Value* batch = builder.node("Unsqueeze", {builder.node("Gather", {dims, builder.integer(0)}), builder.integers({0})});
  Value* depth = builder.node("Gather", {dims, builder.integer(-1)});
  Value* doubled = builder.node("Mul", {depth, builder.integer(2)});
  Value* last = builder.node("Unsqueeze", {doubled, builder.integers({0})});
  Value* target = builder.node("Concat", {batch, builder.integers({2}), last}, {{"axis", int64_t{0}}});
  Value* y = builder.node("Reshape", {x, target});
  builder.output(y);
  infer_shapes(builder.graph);
  EXPECT_EQ(shape_of(y), "[N, 2, 2*D]");
}

TEST(InferShapes, FollowsSlicesOfShapes) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 3, d, h});
  Value* space = builder.node("Slice", {builder.node("Shape", {x}), builder.integers({2}), builder.integers({1000})});
  Value* target = builder.node("Concat", {builder.integers({1}), space}, {{"axis", int64_t{0}}});
  Value* y = builder.node("Expand", {builder.constant<float>(DType::float32, {1}, {0}), target});
  builder.output(y);
  infer_shapes(builder.graph);
  EXPECT_EQ(shape_of(y), "[1, D, H]");
}

// How the older exporter writes interpolate(x, scale_factor=(2, 0.5)) with dynamic sizes.
TEST(InferShapes, FollowsScaledSizesThroughFloats) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 3, d, h});
  Value* space = builder.node("Slice", {builder.node("Shape", {x}), builder.integers({2}), builder.integers({4})});
  Value* real = builder.node("Cast", {space}, {{"to", int64_t{1}}});
  Value* scaled = builder.node("Mul", {real, builder.constant<float>(DType::float32, {2}, {2.0f, 0.5f})});
  Value* whole = builder.node("Cast", {builder.node("Floor", {scaled})}, {{"to", int64_t{7}}});
  Value* y = builder.node("ConstantOfShape", {whole});
  builder.output(y);
  infer_shapes(builder.graph);
  EXPECT_EQ(shape_of(y), "[2*D, H//2]");
}

// Expand's idiom: Where(Equal(target, -1), 1, target).
TEST(InferShapes, FollowsWhere) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 1});
  Value* dims = builder.node("Shape", {x});
  Value* target = builder.node("Concat", {builder.integers({-1}), dims}, {{"axis", int64_t{0}}});
  Value* is_free = builder.node("Equal", {target, builder.integers({-1})});
  Value* chosen = builder.node("Where", {is_free, builder.integers({1, 1, 1}), target});
  Value* y = builder.node("Expand", {x, chosen});
  builder.output(y);
  infer_shapes(builder.graph);
  EXPECT_EQ(shape_of(y), "[1, N, 1]");
}

}  // namespace
}  // namespace onnxc
