#include "passes/lowering/choose_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "passes/graph_text.h"
#include "passes/lowering/text_target.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

Offer offer(std::string kernel, LayoutDemand reads, LayoutDemand gives, double cost) {
  return {.kernel = std::move(kernel), .reads = reads, .gives = gives, .cost = cost, .lower = [](LoweringContext&) {}};
}

// A Conv has two kernels to blocks and, with 3 output channels, one to rows. A MaxPool has only one for blocks. Copying
// a vector of four channels to rows costs 10.
Target target_with(double cost_to_rows) {
  Target target = text_target();
  target.cost_unit = "cents";
  target.copy_to_rows_cost = 10;
  target.offers = [cost_to_rows](const Node& node, const Graph&) {
    Offers offers;
    if (is_operator(&node, "Conv")) {
      offers.push_back(offer("slow", LayoutDemand::blocks, LayoutDemand::blocks, 500));
      offers.push_back(offer("fast", LayoutDemand::blocks, LayoutDemand::blocks, 300));
      offers.push_back(offer("fastest", LayoutDemand::blocks, LayoutDemand::blocks, 100));
      offers.back().declined = "not exact";
      if ((*node.outputs[0]->shape)[1].is_constant(3))
        offers.push_back(offer("to rows", LayoutDemand::blocks, LayoutDemand::rows, cost_to_rows));
    } else if (is_operator(&node, "MaxPool")) {
      offers.push_back(offer("pool", LayoutDemand::blocks, LayoutDemand::blocks, 0));
      offers.back().needs = LayoutDemand::blocks;
    } else if (is_operator(&node, "AveragePool")) {
      offers.push_back(offer("average of rows", LayoutDemand::blocks, LayoutDemand::rows, 0));
      offers.back().needs = LayoutDemand::rows;
      offers.push_back(offer("average of blocks", LayoutDemand::blocks, LayoutDemand::blocks, 1));
      offers.back().needs = LayoutDemand::blocks;
    }
    return offers;
  };
  return target;
}

// "kernel layout" of each node.
std::vector<std::string> chosen(const std::string& text, double cost_to_rows = 0) {
  const auto graph = read_shaped_graph(text);
  const KernelChoices choices = choose_kernels(*graph, target_with(cost_to_rows));
  std::vector<std::string> result;
  for (const auto& node : graph->nodes()) {
    const Offer* offer = choices.chosen(*node);
    result.push_back((offer == nullptr ? "loops" : offer->kernel) +
                     (choices.layouts.contains(node->outputs[0]) ? " in blocks" : " in rows"));
  }
  return result;
}

TEST(ChooseKernels, TheCheapestOfferIsTakenAndItsLayoutSpreads) {
  EXPECT_THAT(chosen(R"((float[1, 8, 6, 5] x) => (y) <float[8, 8, 1, 1] w> {
    a = Conv(x, w)
    b = Relu(a)
    c = MaxPool <kernel_shape = [2, 2]> (b)
    d = Conv(c, w)
    y = Neg(d)
  })"),
              ElementsAre("fast in blocks", "loops in blocks", "pool in blocks", "fast in blocks", "loops in rows"));
}

TEST(ChooseKernels, AKernelThatNeedsBlocksAsksForNoCopy) {
  EXPECT_THAT(chosen("(float[1, 8, 6, 5] x) => (y) { y = MaxPool <kernel_shape = [2, 2]> (x) }"),
              ElementsAre("loops in rows"));
}

// Whatever the readers want, and however much cheaper the other kernel is.
TEST(ChooseKernels, AKernelOfEachLayoutAsksForNoCopy) {
  EXPECT_THAT(chosen(R"((float[1, 8, 6, 5] x) => (y) <float[8, 8, 1, 1] w> {
    a = AveragePool <kernel_shape = [2, 2]> (x)
    b = Conv(a, w)
    y = AveragePool <kernel_shape = [2, 2]> (b)
  })"),
              ElementsAre("average of rows in rows", "fast in blocks", "average of blocks in rows"));
}

// 30 vectors: a copy of 300 beside a kernel of 300.
TEST(ChooseKernels, ACopyToRowsCountsAsMuchAsAKernel) {
  const char* graph = "(float[1, 8, 6, 5] x) => (y) <float[3, 8, 1, 1] w> { y = Conv(x, w) }";
  EXPECT_THAT(chosen(graph, 599), ElementsAre("to rows in rows"));
  EXPECT_THAT(chosen(graph, 600), ElementsAre("fast in rows"));
  // A dim that only a run knows counts as 64.
  const char* dynamic = "(float[N, 8, 6, W] x) => (y) <float[3, 8, 1, 1] w> { y = Conv(x, w) }";
  EXPECT_THAT(chosen(dynamic, 300 + 6 * 64 * 10 - 1), ElementsAre("to rows in rows"));
  EXPECT_THAT(chosen(dynamic, 300 + 6 * 64 * 10), ElementsAre("fast in rows"));
}

TEST(ChooseKernels, OneReaderThatWantsBlocksDecides) {
  const char* graph = R"((float[1, 8, 6, 5] x) => (y, z) <float[3, 8, 1, 1] w, float[8, 3, 1, 1] v> {{
    a = Conv(x, w)
    y = Neg(a)
    b = {} (a)
    z = Conv(b, v)
  }})";
  EXPECT_THAT(chosen(fmt::format(fmt::runtime(graph), "Relu")),
              ElementsAre("fast in blocks", "loops in rows", "loops in blocks", "fast in rows"));
  EXPECT_THAT(chosen(fmt::format(fmt::runtime(graph), "Softmax")),
              ElementsAre("to rows in rows", "loops in rows", "loops in rows", "fast in rows"));
}

TEST(ChooseKernels, EachOfferIsExplained) {
  const auto graph = read_shaped_graph(R"((float[1, 8, 6, 5] x) => (y) <float[3, 8, 1, 1] w> {
    [conv] a = Conv(x, w)
    [neg] b = Neg(a)
    [pool] y = MaxPool <kernel_shape = [2, 2]> (b)
  })");
  expect_text(to_string(*graph, choose_kernels(*graph, target_with(650))),
              R"(# each node: the kernels that offer to compute it, the layouts that they read and give,
# and the cost for one image, in cents, with 64 for each free dim of an input;
# - where it is not estimated: of those the first that fits is taken
node 'conv' (Conv)
  slow                         blocks -> blocks        500  costs more
  fast                         blocks -> blocks        300  taken
  fastest                      blocks -> blocks        100  not exact
  to rows                      blocks -> rows          650  blocks are wanted
node 'neg' (Neg)
  loops: no kernel supports it
node 'pool' (MaxPool)
  pool                         blocks -> blocks          0  taken
)");
}

}  // namespace
}  // namespace onnxc
