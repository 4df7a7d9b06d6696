#include "passes/simplify.h"

#include <gtest/gtest.h>

#include "passes/graph_builder.h"

namespace onnxc {
namespace {

std::string simplified(GraphBuilder& builder) {
  infer_shapes(builder.graph);
  simplify(builder.graph);
  verify(builder.graph);
  return to_string(builder.graph);
}

using AddNode = Value* (*)(GraphBuilder&, Value*);

// One node that does nothing to a [2, 3] tensor.
struct Nothing {
  const char* name;
  AddNode add;
};

const Nothing nothings[] = {
    {"Identity", [](GraphBuilder& builder, Value* x) { return builder.node("Identity", {x}); }},
    {"Dropout", [](GraphBuilder& builder, Value* x) { return builder.node("Dropout", {x}); }},
    {"CastToItsType", [](GraphBuilder& builder, Value* x) { return builder.node("Cast", {x}, {{"to", int64_t{1}}}); }},
    {"ReshapeToItsShape",
     [](GraphBuilder& builder, Value* x) { return builder.node("Reshape", {x, builder.integers({2, -1})}); }},
    {"FlattenOfAMatrix", [](GraphBuilder& builder, Value* x) { return builder.node("Flatten", {x}); }},
    {"ExpandToItsShape",
     [](GraphBuilder& builder, Value* x) { return builder.node("Expand", {x, builder.integers({1, 3})}); }},
    {"TransposeThatKeepsTheOrder",
     [](GraphBuilder& builder, Value* x) {
       return builder.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 1}}});
     }},
    {"ConcatOfOne",
     [](GraphBuilder& builder, Value* x) { return builder.node("Concat", {x}, {{"axis", int64_t{0}}}); }},
    {"SumOfOne", [](GraphBuilder& builder, Value* x) { return builder.node("Sum", {x}); }},
};

class SimplifyDrops : public testing::TestWithParam<Nothing> {};

TEST_P(SimplifyDrops, WhatDoesNothing) {
  GraphBuilder builder;
  Value* negated = builder.node("Neg", {builder.input("x", DType::float32, {2, 3})});
  builder.output(builder.node("Exp", {GetParam().add(builder, negated)}));
  const std::string between = negated->name, last = builder.graph.outputs[0]->name;
  EXPECT_EQ(simplified(builder), fmt::format("input %x: float32[2, 3]\n"
                                             "%{0}: float32[2, 3] = Neg(%x)\n"
                                             "%{1}: float32[2, 3] = Exp(%{0})\n"
                                             "output %{1}\n",
                                             between, last));
}

INSTANTIATE_TEST_SUITE_P(Nodes, SimplifyDrops, testing::ValuesIn(nothings),
                         [](const auto& test) { return std::string(test.param.name); });

// One node of the same kinds that does something.
const Nothing somethings[] = {
    {"Cast", [](GraphBuilder& builder, Value* x) { return builder.node("Cast", {x}, {{"to", int64_t{11}}}); }},
    {"Reshape", [](GraphBuilder& builder, Value* x) { return builder.node("Reshape", {x, builder.integers({3, 2})}); }},
    {"Expand",
     [](GraphBuilder& builder, Value* x) { return builder.node("Expand", {x, builder.integers({2, 2, 3})}); }},
    {"Transpose", [](GraphBuilder& builder, Value* x) { return builder.node("Transpose", {x}); }},
    {"Concat", [](GraphBuilder& builder, Value* x) { return builder.node("Concat", {x, x}, {{"axis", int64_t{0}}}); }},
};

class SimplifyKeeps : public testing::TestWithParam<Nothing> {};

TEST_P(SimplifyKeeps, WhatDoesSomething) {
  GraphBuilder builder;
  Value* negated = builder.node("Neg", {builder.input("x", DType::float32, {2, 3})});
  builder.output(builder.node("Neg", {GetParam().add(builder, negated)}));
  infer_shapes(builder.graph);
  const std::string before = to_string(builder.graph);
  EXPECT_EQ(simplified(builder), before);
}

INSTANTIATE_TEST_SUITE_P(Nodes, SimplifyKeeps, testing::ValuesIn(somethings),
                         [](const auto& test) { return std::string(test.param.name); });

// Users of the model know the output by its name, so the value that takes its place takes the name too.
TEST(Simplify, AnOutputKeepsItsName) {
  GraphBuilder builder;
  Value* negated = builder.node("Neg", {builder.input("x", DType::float32, {2})});
  Value* same = builder.node("Identity", {negated});
  same->name = "result";
  builder.output(same);
  EXPECT_EQ(simplified(builder),
            "input %x: float32[2]\n"
            "%result: float32[2] = Neg(%x)\n"
            "output %result\n");
}

TEST(Simplify, AnInputDoesNotBecomeAnOutput) {
  GraphBuilder builder;
  Value* same = builder.node("Identity", {builder.input("x", DType::float32, {2})});
  same->name = "result";
  builder.output(same);
  EXPECT_EQ(simplified(builder),
            "input %x: float32[2]\n"
            "%result: float32[2] = Identity(%x)\n"
            "output %result\n");
}

TEST(Simplify, WhatNobodyUsesGoes) {
  GraphBuilder builder;
  Value* x = builder.input("x", DType::float32, {2});
  Value* unused = builder.node("Exp", {x});
  builder.node("Mul", {unused, builder.constant<float>(DType::float32, {1}, {2})});
  Value* used = builder.node("Neg", {x});
  used->name = "y";
  builder.output(used);
  EXPECT_EQ(simplified(builder),
            "input %x: float32[2]\n"
            "%y: float32[2] = Neg(%x)\n"
            "output %y\n");
}

}  // namespace
}  // namespace onnxc
