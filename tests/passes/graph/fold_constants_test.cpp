#include "passes/graph/fold_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

using testing::ElementsAreArray;

std::string folded(const std::string& before, const FoldLimits& limits = {}) {
  return after(before, [&](Graph& graph) { fold_constants(graph, limits); });
}

TEST(FoldConstants, ComputesChainsOfConstants) {
  expect_text(folded(R"((float[2, 3] x) => (y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
    turned = Transpose <perm = [1, 0]> (w)
    doubled = Add(turned, turned)
    y = Mul(x, doubled)
  })"),
              R"(input %x: float32[2, 3]
constant %doubled: float32[2, 3] = {2, 6, 10, 4, 8, 12}
%y: float32[2, 3] = Mul(%x, %doubled)
output %y
)");
}

TEST(FoldConstants, AConstantMayBecomeAnOutputOfTheModel) {
  expect_text(folded("(float[1] x) => (y) <float[2] a = {1, 2}> { y = Add(a, a) }"), R"(input %x: float32[1]
constant %y: float32[2] = {2, 4}
output %y
)");
}

TEST(FoldConstants, KnownShapesBecomeConstants) {
  expect_text(folded(R"((float[2, 3, 4] x) => (y) <int64[1] two = {2}, int64[1] free = {-1}> {
    shape = Shape(x)
    last = Gather(shape, two)
    target = Concat <axis = 0> (last, free)
    y = Reshape(x, target)
  })"),
              R"(input %x: float32[2, 3, 4]
constant %target: int64[2] = {4, -1}
%y: float32[4, 6] = Reshape(%x, %target) {allowzero=0}
output %y
)");
}

// A thousand numbers are too many for shape inference, which left the size to the run.
TEST(FoldConstants, SizesThatConstantsDecideAreInferredAnew) {
  expect_text(folded(R"((float[1] x) => (y) <int64 zero = {0}, int64 many = {1000}, int64 one = {1},
                                           int64 ten = {10}, int64[1] flat = {1}> {
    numbers = Range(zero, many, one)
    greatest = ReduceMax <keepdims = 0> (numbers)
    digit = Mod(greatest, ten)
    target = Reshape(digit, flat)
    y = Expand(x, target)
  })"),
              R"(input %x: float32[1]
constant %target: int64[1] = {9}
%y: float32[9] = Expand(%x, %target)
output %y
)");
}

TEST(FoldConstants, WhatGrowsIsLeftToTheRun) {
  expect_text(folded(R"((float[1] x) => (small, large) <float[1] one = {1}, int64[1] hundred = {100},
                                                      int64[1] more = {100000}> {
    small = Expand(one, hundred)
    large = Expand(one, more)
  })"),
              R"(input %x: float32[1]
constant %one: float32[1] = {1}
constant %more: int64[1] = {100000}
constant %small: float32[100]
%large: float32[100000] = Expand(%one, %more)
output %small
output %large
)");
}

TEST(FoldConstants, WhatIsLargeOrTakesLongIsLeftToTheRun) {
  const std::string before = "(float[1] x) => (y) <float[200] a> { y = Neg(a) }";
  const std::string computed = R"(input %x: float32[1]
constant %y: float32[200]
output %y
)";
  const std::string left = R"(input %x: float32[1]
constant %a: float32[200]
%y: float32[200] = Neg(%a)
output %y
)";
  EXPECT_EQ(folded(before), computed);
  EXPECT_EQ(folded(before, {.maximum_bytes = 800, .always_bytes = 0}), computed);
  EXPECT_EQ(folded(before, {.maximum_bytes = 799, .always_bytes = 0}), left);
  EXPECT_EQ(folded(before, {.maximum_steps = 199}), left);
}

TEST(FoldConstants, WidensWeights) {
  const std::unique_ptr<Graph> graph =
      read_shaped_graph("(float[1] x) => (y) <int8[20000] w> { y = Cast <to = 1> (w) }");
  const Tensor narrow = *graph->nodes().front()->inputs[0]->constant;
  fold_constants(*graph, {});
  verify(*graph);
  expect_text(to_string(*graph), R"(input %x: float32[1]
constant %y: float32[20000]
output %y
)");
  EXPECT_THAT(graph->outputs[0]->constant->values<float>(), ElementsAreArray(narrow.values<int8_t>()));
}

}  // namespace
}  // namespace onnxc
