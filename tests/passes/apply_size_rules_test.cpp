#include "passes/apply_size_rules.h"

#include <gtest/gtest.h>

#include "passes/graph_builder.h"
#include "passes/infer_shapes.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

const Expr n = Symbol::dim("N"), d = Symbol::dim("D"), e = Symbol::dim("E");

void infer(GraphBuilder& builder) {
  infer_shapes(builder.graph);
  apply_size_rules(builder.graph);
}

std::string shape_of(const Value* value) { return to_string(*value->shape); }

std::vector<std::string> rules(const Graph& graph) {
  std::vector<std::string> texts;
  for (const SizeRule& rule : graph.size_rules) texts.push_back(rule.symbol.name() + " = " + rule.legal);
  return texts;
}

using Rules = std::vector<std::string>;

// Down by a pool of 2, `times` times, up again, and a Concat with what it began with.
Value* skip_connection(GraphBuilder& builder, Value* x, int times) {
  Value* inner = x;
  for (int i = 0; i < times; ++i)
    inner = builder.node("MaxPool", {inner},
                         {{"kernel_shape", std::vector<int64_t>{2}}, {"strides", std::vector<int64_t>{2}}});
  Value* scales = builder.constant<float>(DType::float32, {3}, {1, 1, static_cast<float>(1 << times)});
  Value* up = builder.node("Resize", {inner, nullptr, scales});
  return builder.node("Concat", {x, up}, {{"axis", int64_t{1}}});
}

TEST(ApplySizeRules, FindsTheMultiplesThatASkipConnectionNeeds) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 4, d});
  Value* y = skip_connection(builder, skip_connection(builder, x, 1), 3);
  builder.output(y);
  infer(builder);
  EXPECT_EQ(rules(builder.graph), Rules{"D = 8*n"});
  EXPECT_EQ(shape_of(x), "[N, 4, D]");
  EXPECT_EQ(shape_of(y), "[N, 16, D]");
  EXPECT_TRUE(builder.graph.guards.empty());
  EXPECT_EQ(builder.graph.size_rules[0].places, (std::vector<SizeRule::Place>{{0, 2}}));
}

TEST(ApplySizeRules, MakesEqualDimsTheSame) {
  GraphBuilder builder;
  Value* a = builder.input("a", DType::float32, {n, d});
  Value* b = builder.input("b", DType::float32, {n, e});
  Value* y = builder.node("Concat", {a, b}, {{"axis", int64_t{0}}});
  builder.output(y);
  infer(builder);
  EXPECT_EQ(rules(builder.graph), Rules{"E = D"});
  EXPECT_EQ(shape_of(b), "[N, D]");
  EXPECT_EQ(shape_of(y), "[2*N, D]");
}

TEST(ApplySizeRules, KnowsTheOneSizeThatIsLegal) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 6});
  Value* y = builder.node("Reshape", {x, builder.integers({3, 8})});
  builder.output(y);
  infer(builder);
  EXPECT_EQ(rules(builder.graph), Rules{"N = 4"});
  EXPECT_EQ(shape_of(x), "[4, 6]");
}

TEST(ApplySizeRules, LeavesSeveralRemaindersToTheGuard) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {1, 4, d});
  const std::vector<NamedAttribute> every_second = {{"kernel_shape", std::vector<int64_t>{1}},
                                                    {"strides", std::vector<int64_t>{2}}};
  Value* y = skip_connection(builder, builder.node("MaxPool", {x}, every_second), 1);
  builder.output(y);
  infer(builder);
  EXPECT_EQ(rules(builder.graph), (Rules{"D = 4*n or 4*n + 3"}));
  EXPECT_EQ(shape_of(y), "[1, 8, (D + 1)//2]");
  EXPECT_EQ(builder.graph.guards.size(), 1U);
}

TEST(ApplySizeRules, RefusesAModelThatNoSizeFits) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {n, 6});
  builder.output(builder.node("Reshape", {x, builder.integers({4, 6})}));
  builder.output(builder.node("Reshape", {x, builder.integers({3, 8})}));
  builder.output(builder.node("Reshape", {x, builder.integers({5, 6})}));
  try {
    infer(builder);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("no size of N is legal"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("Reshape"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace onnxc
