#include "passes/lowering/definition_cost.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/lowering/text_target.h"

namespace onnxc {
namespace {

// Each kind of cost in digits of its own; vectors have four elements.
Target target_with_costs() {
  Target target = text_target();
  target.costs = {.moved_vector = 1, .weight_byte = 1e4, .operation = 1e8, .folded_element = 1e12};
  return target;
}

struct Found {
  double cost;
  double loaded;  // of the first input
};

// The cost of the last node.
Found found(const std::string& text) {
  const auto graph = read_shaped_graph(text);
  UsualSizes sizes(*graph);
  const Node& node = *graph->nodes().back();
  const DefinitionCost cost = definition_cost(node, target_with_costs(), sizes);
  return {cost.cost.value(), cost.loaded.at(node.inputs[0])};
}

TEST(DefinitionCost, CountsWhatIsMovedAndComputed) {
  const Found neg = found("(float[1, 8, 6, 5] x) => (y) { y = Neg(x) }");
  EXPECT_EQ(neg.cost, (240 + 240) / 4 + 240 / 4 * 1e8);
  EXPECT_EQ(neg.loaded, 240);
}

TEST(DefinitionCost, IsThatOfOneImage) {
  const Found neg = found("(float[3, 8, 6, 5] x) => (y) { y = Neg(x) }");
  EXPECT_EQ(neg.cost, (240 + 240) / 4 + 240 / 4 * 1e8);
  EXPECT_EQ(neg.loaded, 3 * 240);
}

TEST(DefinitionCost, ADimThatOnlyARunKnowsCountsAs64) {
  EXPECT_EQ(found("(float[1, 8, 6, W] x) => (y) { y = Neg(x) }").cost, 8 * 6 * 64 * (2 + 1e8) / 4);
}

// A product and a sum for each tap; each element of x, which four outputs read, counts once.
TEST(DefinitionCost, ReductionsCountEachElementAndWeightsTheirBytes) {
  const Found conv = found("(float[1, 8, 6, 5] x) => (y) <float[4, 8, 1, 1] w> { y = Conv(x, w) }");
  EXPECT_EQ(conv.cost, (240 + 120) / 4 + 32 * 4 * 1e4 + 120 * 8 * 2 * 1e12);
  EXPECT_EQ(conv.loaded, 240);
}

TEST(DefinitionCost, APartOfAnInputIsAllThatIsLoaded) {
  const Found slice =
      found(R"((float[1, 8, 6, 5] x) => (y) <int64[1] starts = {2}, int64[1] ends = {4}, int64[1] axes = {1}> {
    y = Slice(x, starts, ends, axes)
  })");
  EXPECT_EQ(slice.cost, 2 * 60 / 4);
  EXPECT_EQ(slice.loaded, 60);
}

// The inputs whose elements become those of the output one by one.
std::vector<bool> are_pointwise(const std::string& text) {
  const auto graph = read_shaped_graph(text);
  UsualSizes sizes(*graph);
  const Node& node = *graph->nodes().back();
  const DefinitionCost cost = definition_cost(node, target_with_costs(), sizes);
  std::vector<bool> result;
  for (const Value* input : node.inputs) result.push_back(cost.pointwise.contains(input));
  return result;
}

TEST(DefinitionCost, FindsWhatAnEpilogueMayCompute) {
  EXPECT_EQ(are_pointwise("(float[2, 8, 6, 5] x) => (y) { y = Neg(x) }"), std::vector<bool>{true});
  EXPECT_EQ(are_pointwise("(float[2, 8, 6, 5] x, float[8, 1, 1] s) => (y) { y = Mul(x, s) }"),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(are_pointwise("(float[2, 8, 5, 5] x) => (y) { y = Transpose <perm = [0, 1, 3, 2]> (x) }"),
            std::vector<bool>{false});
  EXPECT_EQ(are_pointwise("(float[2, 8, 6, 5] x) => (y) { y = Softmax <axis = 3> (x) }"), std::vector<bool>{false});
  EXPECT_EQ(are_pointwise("(float[2, 8, 6, 5] x) => (y) { y = MaxPool <kernel_shape = [1, 1]> (x) }"),
            std::vector<bool>{false});
}

}  // namespace
}  // namespace onnxc
