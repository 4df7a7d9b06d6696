#include "passes/lowering/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/test_target.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

const std::string convolution = R"((float[N, 8, D] x) => (y) <float[4, 8, 1] w> {
  a = Conv(x, w)
  b = Relu(a)
  y = Neg(b)
})";

std::string lowered(const Graph& graph, bool use_templates) {
  Program program = use_templates ? lower_for(graph, test_target()) : lower(graph, {});
  verify(program);
  return to_string(program);
}

std::string lowered(const std::string& before, bool use_templates) {
  return lowered(*read_shaped_graph(before), use_templates);
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Lower, WithoutTemplatesEachNodeIsItsDefinition) {
  expect_text(lowered(convolution, false), R"(b0 input float32 [N, 8, D] "x"
b1 constant float32 [4, 8, 1] "w"
b2 temporary float32 [N, 4, D] "a"
b3 temporary float32 [N, 4, D] "b"
b4 output float32 [N, 4, D] "y"
inputs b0
outputs b4
# "a" Conv-22
nest conv  axes i0<N, i1<4, i2<D  reduce i3<8, i4<1
  acc0: float32 = sum b0[i0, i3, i2 + i4] * b1[i1, i3, i4]
  b2[i0, i1, i2] = acc0
# "b" Relu-22
nest Relu  axes i0<N, i1<4, i2<D
  b3[i0, i1, i2] = max(b2[i0, i1, i2], 0.0)
# "y" Neg-22
nest Neg  axes i0<N, i1<4, i2<D
  b4[i0, i1, i2] = -b3[i0, i1, i2]
)");
}

// The kernel's output is blocked, and Relu, which follows any layout, stays so; the model's input and output do not.
TEST(Lower, WithTemplatesLayoutsSpreadFromKernels) {
  expect_text(lowered(convolution, true), R"(b0 input float32 [N, 8, D] "x"
b1 temporary float32 [N, 8, D] layout 0 1/4 2 1%4 "x"
b2 constant float32 [4, 8, 1] "w"
b3 temporary float32 [N, 4, D] layout 0 1/4 2 1%4 "a"
b4 temporary float32 [N, 4, D] layout 0 1/4 2 1%4 "b"
b5 output float32 [N, 4, D] "y"
inputs b0
outputs b5
# "a" Conv-22
nest copy  axes i0<N, i1<8, i2<D
  b1[i0, i1, i2] = b0[i0, i1, i2]
# "a" Conv-22
kernel test_conv  b3 = b1, b2
# "b" Relu-22
nest Relu  axes i0<N, i1<4, i2<D
  b4[i0, i1, i2] = max(b3[i0, i1, i2], 0.0)
# "y" Neg-22
nest Neg  axes i0<N, i1<4, i2<D
  b5[i0, i1, i2] = -b4[i0, i1, i2]
)");
}

TEST(Lower, AValueIsCopiedToALayoutOnce) {
  expect_text(lowered(R"((float[1, 8, 5] x) => (y, z) <float[4, 8, 1] v, float[4, 8, 1] w> {
    a = Conv(x, v)
    y = Neg(a)
    b = Conv(x, w)
    z = Neg(b)
  })",
                      true),
              R"(b0 input float32 [1, 8, 5] "x"
b1 temporary float32 [1, 8, 5] layout 0 1/4 2 1%4 "x"
b2 constant float32 [4, 8, 1] "v"
b3 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "a"
b4 output float32 [1, 4, 5] "y"
b5 constant float32 [4, 8, 1] "w"
b6 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "b"
b7 output float32 [1, 4, 5] "z"
inputs b0
outputs b4, b7
# "a" Conv-22
nest copy  axes i0<1, i1<8, i2<5
  b1[i0, i1, i2] = b0[i0, i1, i2]
# "a" Conv-22
kernel test_conv  b3 = b1, b2
# "y" Neg-22
nest Neg  axes i0<1, i1<4, i2<5
  b4[i0, i1, i2] = -b3[i0, i1, i2]
# "b" Conv-22
kernel test_conv  b6 = b1, b5
# "z" Neg-22
nest Neg  axes i0<1, i1<4, i2<5
  b7[i0, i1, i2] = -b6[i0, i1, i2]
)");
}

// Each output is memory of the caller's own: what is an input, a constant or an output already is copied.
TEST(Lower, OutputsAreBuffersOfTheirOwn) {
  const auto graph = read_shaped_graph("(float[4] x) => (y) { y = Neg(x) }");
  graph->outputs = {graph->inputs[0], graph->outputs[0], graph->outputs[0]};
  expect_text(lowered(*graph, true), R"(b0 input float32 [4] "x"
b1 output float32 [4] "y"
b2 output float32 [4] "x"
b3 output float32 [4] "y"
inputs b0
outputs b2, b1, b3
# "y" Neg-22
nest Neg  axes i0<4
  b1[i0] = -b0[i0]
# "x" Identity-0
nest copy  axes i0<4
  b2[i0] = b0[i0]
# "y" Identity-0
nest copy  axes i0<4
  b3[i0] = b1[i0]
)");
}

// The steps of a branch run under its condition, and so does the copy of x that each of the kernels reads.
TEST(Lower, TheBranchesOfAnIf) {
  expect_text(lowered(R"((bool c, float[1, 8, 5] x) => (y) <float[4, 8, 1] w> {
    y = If(c) <then_branch = t () => (a) { a = Conv(x, w) }, else_branch = e () => (b) { b = Conv(x, w) }>
  })",
                      true),
              R"(dim c 0..1
b0 input bool [] "c"
b1 input float32 [1, 8, 5] "x"
b2 temporary float32 [1, 8, 5] layout 0 1/4 2 1%4 "x"
b3 constant float32 [4, 8, 1] "w"
b4 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "y/then_branch/a"
b5 temporary float32 [1, 8, 5] layout 0 1/4 2 1%4 "x"
b6 temporary float32 [1, 4, 5] layout 0 1/4 2 1%4 "y/else_branch/b"
b7 output float32 [1, 4, 5] "y"
inputs b0, b1
outputs b7
# "c" Input-0
bind c = b0
when c
# "y/then_branch/a" Conv-22
nest copy  axes i0<1, i1<8, i2<5
  b2[i0, i1, i2] = b1[i0, i1, i2]
when c
# "y/then_branch/a" Conv-22
kernel test_conv  b4 = b2, b3
when -c + 1
# "y/else_branch/b" Conv-22
nest copy  axes i0<1, i1<8, i2<5
  b5[i0, i1, i2] = b1[i0, i1, i2]
when -c + 1
# "y/else_branch/b" Conv-22
kernel test_conv  b6 = b5, b3
# "y" If-22
nest If  axes i0<1, i1<4, i2<5
  b7[i0, i1, i2] = b4[i0, i1, i2] if index(c) == 1
# "y" If-22
nest If  axes i0<1, i1<4, i2<5
  b7[i0, i1, i2] = b6[i0, i1, i2] if !(index(c) == 1)
)");
}

// Reads of the state in a round stand before the writes of the next one.
TEST(Lower, TheRoundsOfALoop) {
  expect_text(lowered(R"((int64 n, float[N, 2] a) => (last, sums) <bool yes = {1}> {
    last, sums = Loop(n, yes, a) <body = body (int64 i, bool keep, float[N, 2] x) => (same, y, total) {
      same = Identity(keep)
      y = Add(x, x)
      total = ReduceSum <keepdims = 0> (y)
    }>
  })",
                      false),
              R"(dim n ..
b0 input int64 [] "n"
b1 input float32 [N, 2] "a"
b2 temporary float32 [N, 2] "last/x"
b3 temporary bool [] "last/keep"
b4 constant bool [] = {1} "yes"
b5 temporary int64 [] "last/i"
b6 temporary bool [] "last/same"
b7 temporary float32 [N, 2] "last/y"
b8 temporary float32 [] "last/total"
b9 output float32 [max(0, n)] "sums"
b10 output float32 [N, 2] "last"
inputs b0, b1
outputs b10, b9
# "n" Input-0
bind n = b0
# "last" Loop-22
nest Loop  axes i0<N, i1<2
  b2[i0, i1] = b1[i0, i1]
# "last" Loop-22
nest condition
  b3[] = b4[]
# "last" Loop-22
loop last_i < max(0, n) carries b2
# "last" Loop-22
nest Loop
  b5[] = index(last_i)
# "last/same" Identity-22
nest Identity
  b6[] = b3[]
# "last/y" Add-22
nest Add  axes i0<N, i1<2
  b7[i0, i1] = b2[i0, i1] + b2[i0, i1]
# "last/total" ReduceSum-22
nest ReduceSum  reduce i0<N, i1<2
  acc0: float32 = sum b7[i0, i1]
  b8[] = acc0
# "last" Loop-22
nest collect
  b9[last_i] = b8[]
# "last" Loop-22
nest next_state  axes i0<N, i1<2
  b2[i0, i1] = b7[i0, i1]
# "last" Loop-22
nest condition
  b3[] = b6[]
# "last" Loop-22
end loop
# "last" Loop-22
nest Loop  axes i0<N, i1<2
  b10[i0, i1] = b2[i0, i1]
)");
}

// The second kernel reads what the first wrote before it was copied to the model's output.
TEST(Lower, AnOutputThatAKernelReadsAsWellIsCopiedOnce) {
  const std::string text = lowered(R"((float[N, 8, D] x) => (y, z) <float[4, 8, 1] w, float[4, 4, 1] v> {
    y = Conv(x, w)
    z = Conv(y, v)
  })",
                                   true);
  EXPECT_EQ(count_of(text, "nest copy"), 3) << text;  // to x's blocks, y, z
  EXPECT_EQ(count_of(text, "kernel test_conv"), 2) << text;
}

// The test's convolution reads and writes blocks.
TEST(Lower, ACallHasTheLayoutsOfItsOffer) {
  const auto fault_of = [](LayoutDemand reads, LayoutDemand gives) -> std::string {
    Target target = test_target();
    target.offers = [=, offers = target.offers](const Node& node, const Graph& graph) {
      Offers changed = offers(node, graph);
      for (Offer& offer : changed) {
        offer.reads = reads;
        offer.gives = gives;
      }
      return changed;
    };
    try {
      lower_for(*read_shaped_graph("(float[N, 8, D] x) => (y) <float[4, 8, 1] w> { y = Conv(x, w) }"), target);
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fault_of(LayoutDemand::blocks, LayoutDemand::blocks), "");
  EXPECT_EQ(fault_of(LayoutDemand::none, LayoutDemand::blocks), "");
  EXPECT_THAT(fault_of(LayoutDemand::rows, LayoutDemand::blocks), testing::HasSubstr("reads the layout of its offer"));
  EXPECT_THAT(fault_of(LayoutDemand::blocks, LayoutDemand::rows), testing::HasSubstr("writes the layout of its offer"));
}

}  // namespace
}  // namespace onnxc
