#include "passes/lowering/choose_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ops/op.h"
#include "passes/graph_text.h"
#include "passes/lowering/text_target.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::ElementsAre;

Offer offer(std::string kernel, LayoutDemand reads, LayoutDemand gives, double cost) {
  return {.kernel = std::move(kernel), .reads = reads, .gives = gives, .cost = cost, .lower = [](LoweringContext&) {}};
}

// A Conv has two kernels to blocks and, with 3 output channels, one to rows. A MaxPool has only one for blocks, an
// AveragePool one for each layout. Copying a vector of four channels, as each of the 30 voxels has one or two,
// costs 10.
Target target_with(double cost_to_rows) {
  Target target = text_target();
  target.cost_unit = "cents";
  target.costs = {.copy_to_rows = 10, .copy_to_blocks = 10, .moved_vector = 1, .operation = 1, .folded_element = 1};
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
      offers.push_back(offer("pool", LayoutDemand::blocks, LayoutDemand::blocks, 100));
    } else if (is_operator(&node, "AveragePool")) {
      offers.push_back(offer("average of rows", LayoutDemand::rows, LayoutDemand::rows, 10));
      offers.push_back(offer("average of blocks", LayoutDemand::blocks, LayoutDemand::blocks, 11));
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

// A pool of 100 in blocks, and loops of some 280 in rows: two copies would cost 1,200.
TEST(ChooseKernels, LoopsAreTakenIfAKernelIsNotWorthItsCopies) {
  EXPECT_THAT(chosen("(float[1, 8, 6, 5] x) => (y) { y = MaxPool <kernel_shape = [2, 2]> (x) }"),
              ElementsAre("loops in rows"));
}

// The kernels in rows and in blocks cost nearly the same. A value that is given in one layout and read in the other has
// either.
TEST(ChooseKernels, OfTheKernelsOfBothLayoutsTheOneWithoutACopyIsTaken) {
  EXPECT_THAT(chosen(R"((float[1, 8, 6, 5] x) => (y) <float[8, 8, 1, 1] w> {
    a = AveragePool <kernel_shape = [2, 2]> (x)
    b = Conv(a, w)
    y = AveragePool <kernel_shape = [2, 2]> (b)
  })"),
              ElementsAre("average of rows in blocks", "fast in blocks", "average of blocks in rows"));
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

// Either the loops of y read blocks in strides, for 300, or the Conv of z needs a copy of its input, for 300 as well.
TEST(ChooseKernels, ReadersOfBothLayoutsAreWeighedAgainstEachOther) {
  const char* graph = R"((float[1, 8, 6, 5] x) => (y, z) <float[3, 8, 1, 1] w, float[8, 3, 1, 1] v> {{
    a = Conv(x, w)
    y = Neg(a)
    b = {} (a)
    z = Conv(b, v)
  }})";
  EXPECT_THAT(chosen(fmt::format(fmt::runtime(graph), "Relu"), 350),
              ElementsAre("fast in blocks", "loops in rows", "loops in blocks", "fast in rows"));
  EXPECT_THAT(chosen(fmt::format(fmt::runtime(graph), "Relu"), 250),
              ElementsAre("to rows in rows", "loops in rows", "loops in rows", "fast in rows"));
  EXPECT_THAT(chosen(fmt::format(fmt::runtime(graph), "Softmax"), 350),
              ElementsAre("to rows in rows", "loops in rows", "loops in rows", "fast in rows"));
}

TEST(ChooseKernels, EachOfferIsExplained) {
  const auto graph = read_shaped_graph(R"((float[1, 8, 6, 5] x) => (y) <float[3, 8, 1, 1] w> {
    [conv] a = Conv(x, w)
    [neg] b = Neg(a)
    [pool] y = MaxPool <kernel_shape = [2, 2]> (b)
  })");
  expect_text(
      to_string(*graph, choose_kernels(*graph, target_with(650))),
      R"(# each node: the kernels that offer to compute it, and its definition as loops; the layouts that they read and
# give, and the cost for one image in cents, with 64 for each free dim of an input;
# - if it is not estimated: of those the first that fits is taken
node 'conv' (Conv), in blocks
  slow                         blocks -> blocks        500  costs more
  fast                         blocks -> blocks        300  taken
  fastest                      blocks -> blocks        100  not exact
  to rows                      blocks -> rows          650  950 with copies
  loops                           any -> any      1.52e+03  1.53e+03 with copies
node 'neg' (Neg), in blocks
  loops                           any -> any          67.5  taken
node 'pool' (MaxPool)
  pool                         blocks -> blocks        100  taken
  loops                           any -> any           278  282 with copies
)");
}

// Offers of one node as a mistake could have them, and what the check says.
TEST(ChooseKernels, OffersThatContradictEachOtherAreRefused) {
  const auto graph = read_shaped_graph("(float[1, 8, 6, 5] x, float[5] v) => (y, z) { y = Neg(x) z = Neg(v) }");
  const auto fault_of = [&](const Node& node, const std::function<void(Offers&)>& change) {
    Offers offers = {offer("kernel", LayoutDemand::rows, LayoutDemand::rows, 1),
                     offer(definition_name, LayoutDemand::none, LayoutDemand::rows, 1)};
    change(offers);
    try {
      check_offers(node, offers);
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Node &image = *graph->nodes().front(), &vector = *graph->nodes().back();
  using testing::HasSubstr;
  EXPECT_EQ(fault_of(image, [](Offers&) {}), "");
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].kernel.clear(); }), HasSubstr("it has a name"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].lower = nullptr; }), HasSubstr("can be lowered"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].kernel = definition_name; }), HasSubstr("is the last"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[1].activations = 0; }), HasSubstr("the same activations"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].activations = offers[1].activations = 2; }),
              HasSubstr("the same activations"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].cost = -1; }), HasSubstr("a number from 0 on"));
  EXPECT_THAT(fault_of(image, [](Offers& offers) { offers[0].cost = NAN; }), HasSubstr("a number from 0 on"));
  EXPECT_THAT(fault_of(vector, [](Offers& offers) { offers[0].reads = LayoutDemand::blocks; }), HasSubstr("it reads"));
  EXPECT_THAT(fault_of(vector, [](Offers& offers) { offers[0].gives = LayoutDemand::blocks; }), HasSubstr("it gives"));
  EXPECT_THAT(fault_of(vector, [](Offers& offers) { offers[0].gives = LayoutDemand::none; }), HasSubstr("it gives"));
}

// An offer without a cost counts as 0, and of several the first is taken.
TEST(ChooseKernels, WithoutCostsTheFirstOfferIsTaken) {
  const auto graph = read_shaped_graph("(float[1, 8, 6, 5] x) => (y) { y = Neg(x) }");
  Target target = text_target();
  target.offers = [](const Node&, const Graph&) {
    Offers offers = {offer("dear", LayoutDemand::rows, LayoutDemand::rows, 1),
                     offer("first", LayoutDemand::rows, LayoutDemand::rows, 0),
                     offer("second", LayoutDemand::rows, LayoutDemand::rows, 0)};
    offers[1].cost = offers[2].cost = std::nullopt;
    return offers;
  };
  const KernelChoices choices = choose_kernels(*graph, target);
  EXPECT_EQ(choices.chosen(*graph->nodes().front())->kernel, "first");
  EXPECT_THAT(to_string(*graph, choices),
              testing::HasSubstr("second                         rows -> rows            -  another comes first\n"));
}

}  // namespace
}  // namespace onnxc
