#include "report/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph/apply_size_rules.h"
#include "passes/graph_text.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> baked(const std::string& text) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(text);
  apply_size_rules(*graph);
  return baked_sizes(*graph);
}

// F.interpolate(size=(32, 32)) and a Concat with what the input was before.
TEST(BakedSizes, OfRulesThatLeaveOneSize) {
  const std::string end =
      " of every input must agree). Export it with dynamic shapes, or give the inputs' dims their "
      "values with --dim";
  EXPECT_THAT(
      baked(R"((float[N, 2, D, H] x) => (y) <int64[4] sizes = {3, 2, 32, 32}> {
                up = Resize(x, "", "", sizes)
                y = Concat <axis = 1> (x, up)
              })"),
      UnorderedElementsAre("a size is baked into the model: N must be 3, and the file declares it free (node 'y' "
                           "(Concat): dim 0" +
                               end,
                           "a size is baked into the model: D, H must be 32, and the file declares them free "
                           "(node 'y' (Concat): dim 2" +
                               end));
}

// No single dim has one size; the product has.
TEST(BakedSizes, OfGuardsThatFixAnExpression) {
  EXPECT_THAT(baked(R"((float[N, D, H] x) => (y) <float[12, 5] w> {
                a = Flatten(x)
                y = MatMul(a, w)
              })"),
              ElementsAre("a size is baked into the model: D*H must be 12 (node 'y' (MatMul): the columns of the first "
                          "operand must be as many as the rows of the second). Export it with dynamic shapes, or give "
                          "the inputs' dims their values with --dim"));
}

TEST(BakedSizes, NotOfMultiplesRangesEqualAndFixedDims) {
  EXPECT_THAT(baked(R"((float[N, 4, D] x) => (y) <float[3] twice = {1, 1, 2}> {
                half = MaxPool <kernel_shape = [2], strides = [2]> (x)
                same = Resize(half, "", twice)
                y = Concat <axis = 1> (x, same)
              })"),
              IsEmpty());
  EXPECT_THAT(baked("(float[N, D] a, float[N, E] b) => (y) { y = Concat <axis = 0> (a, b) }"), IsEmpty());
  EXPECT_THAT(baked("(float[N, 4] a) => (y) <float[1, 4] b> { y = Add(a, b) }"), IsEmpty());
  EXPECT_THAT(baked("(float[3, 4] a) => (y) <float[3, 4] b> { y = Concat <axis = 0> (a, b) }"), IsEmpty());
}

TEST(EmptyWindows, NameTheNodeAndTheShapes) {
  const std::unique_ptr<Graph> graph =
      read_shaped_graph("(float[1, 2, 2] x) => (y) { y = MaxPool <kernel_shape = [3]> (x) }");
  EXPECT_THAT(empty_windows(*graph), ElementsAre("node 'y' (MaxPool): its output [1, 2, 0] is empty, as the kernel is "
                                                 "larger than the input [1, 2, 2] with its padding"));
}

TEST(ListedWarnings, OfManyTheFirstAndTheirNumber) {
  const std::vector<std::string> ten(10, "a"), eleven(11, "a"), twelve(12, "a");
  EXPECT_EQ(listed_warnings(ten), ten);
  EXPECT_EQ(listed_warnings(eleven).size(), 11u);
  EXPECT_EQ(listed_warnings(eleven).back(), "and 1 more warning like these");
  EXPECT_EQ(listed_warnings(twelve).back(), "and 2 more warnings like these");
}

}  // namespace
}  // namespace onnxc
