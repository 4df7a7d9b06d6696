#include "passes/graph/reduce_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

std::string narrowed(const char* before, std::vector<std::string> kept = {}, DType dtype = DType::bfloat16) {
  return after(before, [&](Graph& graph) { reduce_precision(graph, {dtype, kept}); });
}

// 1.00390625 = 1 + 2^-8 is half way between two numbers of bfloat16, and even is below; 3 is one of them.
constexpr const char* convolution_and_pool = R"((float[1, 2, 5] x) => (y)
      <float[2, 2, 1] w = {1.00390625, 2, 3, 4}, float[2] bias = {10.01, 20}> {
    [first] a = Conv(x, w, bias)
    [relu] b = Relu(a)
    [pool] y = GlobalAveragePool(b)
  })";

// Outputs, biases and what a pool gives stay float32; weights are rounded.
TEST(ReducePrecision, BeginsWithAProductAndGoesOnThroughWhatComputes) {
  expect_text(narrowed(convolution_and_pool), R"(input %x: float32[1, 2, 5]
constant %bias: float32[2] = {10.010000228881836, 20}
constant %w/bfloat16: float32[2, 2, 1] = {1, 2, 3, 4}
%a: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16, %bias) {auto_pad="NOTSET", group=1}
%b: bfloat16[1, 2, 5] = Relu(%a)
%y: float32[1, 2, 1] = GlobalAveragePool(%b)
output %y
)");
}

TEST(ReducePrecision, LeavesAModelOfFloat32AsItIs) {
  EXPECT_EQ(narrowed(convolution_and_pool, {}, DType::float32), to_string(*read_shaped_graph(convolution_and_pool)));
}

// The kept node reads its input through a Cast, gives float32 and keeps its weights.
TEST(ReducePrecision, KeepsNodesByPattern) {
  expect_text(narrowed(R"((float[1, 2, 5] x) => (y)
      <float[2, 2, 1] w = {1.00390625, 2, 3, 4}, float[2, 2, 1] v = {1.00390625, 2, 3, 4}> {
    [encoder_first] a = Conv(x, w)
    [decoder_first] b = Conv(a, v)
    [decoder_last] y = Relu(b)
  })",
                       {"decoder_f*"}),
              R"(input %x: float32[1, 2, 5]
constant %v: float32[2, 2, 1] = {1.00390625, 2, 3, 4}
constant %w/bfloat16: float32[2, 2, 1] = {1, 2, 3, 4}
%a: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%a/float32: float32[1, 2, 5] = Cast(%a) {to=1}
%b: float32[1, 2, 5] = Conv(%a/float32, %v) {auto_pad="NOTSET", group=1}
%y: float32[1, 2, 5] = Relu(%b)
output %y
)");
}

// A node of a model of float16 is not a float32 one.
TEST(ReducePrecision, LeavesOtherTypesAsTheyAre) {
  constexpr const char* before = R"((float16[1, 2, 5] x, float16[2, 2, 1] w) => (y) {
    a = Conv(x, w)
    y = Relu(a)
  })";
  EXPECT_EQ(narrowed(before), to_string(*read_shaped_graph(before)));
}

// Operators that move elements have one type: the value that a Pad writes, the other part of a Concat.
TEST(ReducePrecision, CastsWhatMovesTogether) {
  expect_text(narrowed(R"((float[1, 2, 5] x, float[1, 2, 5] z, float v) => (y)
      <float[2, 2, 1] w = {1, 2, 3, 4}, int64[6] pads = {0, 0, 1, 0, 0, 1}> {
    a = Conv(x, w)
    b = Concat <axis = 1> (a, z)
    c = Pad(b, pads, v)
    y = Relu(c)
  })"),
              R"(input %x: float32[1, 2, 5]
input %z: float32[1, 2, 5]
input %v: float32[]
constant %pads: int64[6] = {0, 0, 1, 0, 0, 1}
constant %w/bfloat16: float32[2, 2, 1] = {1, 2, 3, 4}
%a: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%z/bfloat16: bfloat16[1, 2, 5] = Cast(%z) {to=16}
%b: bfloat16[1, 4, 5] = Concat(%a, %z/bfloat16) {axis=1}
%v/bfloat16: bfloat16[] = Cast(%v) {to=16}
%c: bfloat16[1, 4, 7] = Pad(%b, %pads, %v/bfloat16) {mode="constant"}
%y: float32[1, 4, 7] = Relu(%c)
output %y
)");
}

// The inputs of an operator without a role are cast to float32, for each reader; squeezes stay float32.
TEST(ReducePrecision, CastsForOperatorsThatNeedFloat32) {
  expect_text(narrowed(R"((float[1, 2, 5] x) => (y)
      <float[2, 2, 1] w = {1, 2, 3, 4}, float[2, 2, 1] s = {1.00390625, 2, 3, 4}> {
    a = Conv(x, w)
    e = Exp(a)
    m = GlobalAveragePool(a)
    q = Conv(m, s)
    g = Mul(a, q)
    y = Add(g, e)
  })"),
              R"(input %x: float32[1, 2, 5]
constant %s: float32[2, 2, 1] = {1.00390625, 2, 3, 4}
constant %w/bfloat16: float32[2, 2, 1] = {1, 2, 3, 4}
%a: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%a/float32: float32[1, 2, 5] = Cast(%a) {to=1}
%e: float32[1, 2, 5] = Exp(%a/float32)
%m: float32[1, 2, 1] = GlobalAveragePool(%a)
%q: float32[1, 2, 1] = Conv(%m, %s) {auto_pad="NOTSET", group=1}
%g: bfloat16[1, 2, 5] = Mul(%a, %q)
%y: float32[1, 2, 5] = Add(%g, %e)
output %y
)");
}

// Computed matrices are multiplied in one type; the result of one row, a classifier's, is float32.
TEST(ReducePrecision, MultipliesComputedMatricesInOneType) {
  expect_text(narrowed(R"((float[1, 3, 4] x, float[1, 4, 3] z) => (y)
      <float[4, 4] w, float[4, 2] v, int64[2] shape = {3, 4}> {
    q = MatMul(x, w)
    s = MatMul(q, z)
    p = Softmax <axis = -1> (s)
    o = MatMul(p, q)
    r = Reshape(o, shape)
    y = Gemm(r, v)
  })"),
              R"(input %x: float32[1, 3, 4]
input %z: float32[1, 4, 3]
constant %shape: int64[2] = {3, 4}
constant %v: float32[4, 2] = {1, -3, 4, 0, -4, 3, -1, -5}
constant %w/bfloat16: float32[4, 4] = {1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4}
%z/bfloat16: bfloat16[1, 4, 3] = Cast(%z) {to=16}
%q: bfloat16[1, 3, 4] = MatMul(%x, %w/bfloat16)
%s: bfloat16[1, 3, 3] = MatMul(%q, %z/bfloat16)
%p: bfloat16[1, 3, 3] = Softmax(%s) {axis=-1}
%o: bfloat16[1, 3, 4] = MatMul(%p, %q)
%r: bfloat16[3, 4] = Reshape(%o, %shape) {allowzero=0}
%y: float32[3, 2] = Gemm(%r, %v) {alpha=1.0, beta=1.0, transA=0, transB=0}
output %y
)");
}

// Products of 8 channels read one copy in 16 bits; those of 7, and of groups of 4, read the input as it is.
TEST(ReducePrecision, ProductsOfManyChannelsReadTheirInputIn16Bits) {
  expect_text(narrowed(R"((float[1, 8, 5] x, float[1, 7, 5] image, float[2, 3, 8] tokens) => (p, q, r, s, t, u)
      <float[1, 8, 1] w, float[1, 7, 1] v, float[8, 1, 1] tw, float[8, 1] m, float[2, 4, 1] g, float[8, 1, 1] tg> {
    p = Conv(x, w)
    q = ConvTranspose(x, tw)
    r = Conv(image, v)
    s = MatMul(tokens, m)
    t = Conv <group = 2> (x, g)
    u = ConvTranspose <group = 2> (x, tg)
  })"),
              R"(input %x: float32[1, 8, 5]
input %image: float32[1, 7, 5]
input %tokens: float32[2, 3, 8]
constant %w/bfloat16: float32[1, 8, 1] = {1, -3, 4, 0, -4, 3, -1, -5}
constant %tw/bfloat16: float32[8, 1, 1] = {1, -3, 4, 0, -4, 3, -1, -5}
constant %v/bfloat16: float32[1, 7, 1] = {1, -3, 4, 0, -4, 3, -1}
constant %m/bfloat16: float32[8, 1] = {1, -3, 4, 0, -4, 3, -1, -5}
constant %g/bfloat16: float32[2, 4, 1] = {1, -3, 4, 0, -4, 3, -1, -5}
constant %tg/bfloat16: float32[8, 1, 1] = {1, -3, 4, 0, -4, 3, -1, -5}
%tokens/bfloat16: bfloat16[2, 3, 8] = Cast(%tokens) {to=16}
%x/bfloat16: bfloat16[1, 8, 5] = Cast(%x) {to=16}
%p: float32[1, 1, 5] = Conv(%x/bfloat16, %w/bfloat16) {auto_pad="NOTSET", group=1}
%q: float32[1, 1, 5] = ConvTranspose(%x/bfloat16, %tw/bfloat16) {auto_pad="NOTSET", group=1}
%r: float32[1, 1, 5] = Conv(%image, %v/bfloat16) {auto_pad="NOTSET", group=1}
%s: float32[2, 3, 1] = MatMul(%tokens/bfloat16, %m/bfloat16)
%t: float32[1, 2, 5] = Conv(%x, %g/bfloat16) {group=2, auto_pad="NOTSET"}
%u: float32[1, 2, 5] = ConvTranspose(%x, %tg/bfloat16) {group=2, auto_pad="NOTSET"}
output %p
output %q
output %r
output %s
output %t
output %u
)");
}

// A product by computed matrices reads both in 16 bits, constants as constants.
TEST(ReducePrecision, ProductsOfAConstantReadItIn16Bits) {
  expect_text(narrowed(R"((float[1, 8, 3] z) => (y) <float[2, 8] w> {
    y = MatMul(w, z)
  })"),
              R"(input %z: float32[1, 8, 3]
constant %w/bfloat16: bfloat16[2, 8] = {1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1, -3, 4, 0, -4}
%z/bfloat16: bfloat16[1, 8, 3] = Cast(%z) {to=16}
%y: float32[1, 2, 3] = MatMul(%w/bfloat16, %z/bfloat16)
output %y
)");
}

// A product follows from %a and %b, through what goes on in 16 bits, and none from %y.
TEST(ReducePrecision, GivesACopyOfAnOutputThatAProductFollows) {
  expect_text(narrowed(R"((float[1, 2, 5] x) => (a, b, y, z)
      <float[2, 2, 1] w, float[2, 3, 1] v, int64[3] backwards = {1, 0, 1}, float half = {0.5}> {
    a = Conv(x, w)
    b = Relu(a)
    c = Gather <axis = 1> (b, backwards)
    d = Mul(c, half)
    y = Conv(d, v)
    z = Softmax(y)
  })"),
              R"(input %x: float32[1, 2, 5]
constant %backwards: int64[3] = {1, 0, 1}
constant %half: float32[] = {0.5}
constant %w/bfloat16: float32[2, 2, 1] = {1, -3, 4, 0}
constant %v/bfloat16: float32[2, 3, 1] = {1, -3, 4, 0, -4, 3}
%a/bfloat16: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%a: float32[1, 2, 5] = Cast(%a/bfloat16) {to=1}
%b/bfloat16: bfloat16[1, 2, 5] = Relu(%a/bfloat16)
%b: float32[1, 2, 5] = Cast(%b/bfloat16) {to=1}
%c: bfloat16[1, 3, 5] = Gather(%b/bfloat16, %backwards) {axis=1}
%d: bfloat16[1, 3, 5] = Mul(%c, %half)
%y: float32[1, 2, 5] = Conv(%d, %v/bfloat16) {auto_pad="NOTSET", group=1}
%z: float32[1, 2, 5] = Softmax(%y) {axis=-1}
output %a
output %b
output %y
output %z
)");
}

// A kept product does not count, nor do a pool and Exp.
TEST(ReducePrecision, KeepsAnOutputThatNoProductFollows) {
  expect_text(narrowed(R"((float[1, 2, 5] x) => (a, b, y, z, p) <float[2, 2, 1] w> {
    a = Conv(x, w)
    [kept] y = Conv(a, w)
    b = Conv(x, w)
    p = GlobalAveragePool(b)
    z = Exp(b)
  })",
                       {"kept*"}),
              R"(input %x: float32[1, 2, 5]
constant %w: float32[2, 2, 1] = {1, -3, 4, 0}
constant %w/bfloat16: float32[2, 2, 1] = {1, -3, 4, 0}
constant %w/bfloat16: float32[2, 2, 1] = {1, -3, 4, 0}
%a: float32[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%y: float32[1, 2, 5] = Conv(%a, %w) {auto_pad="NOTSET", group=1}
%b: float32[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%p: float32[1, 2, 1] = GlobalAveragePool(%b)
%z: float32[1, 2, 5] = Exp(%b)
output %a
output %b
output %y
output %z
output %p
)");
}

// All of them move elements as they are stored.
TEST(ReducePrecision, GathersMove16Bits) {
  expect_text(narrowed(R"((float[1, 2, 5] x, int64[1, 2, 5] places) => (y)
      <float[2, 2, 1] w, int64[2] order = {1, 0}, int64[1, 1] first = {0}, int64[1] lengths = {1}, bool[2] all = {1, 1}> {
    a = Conv(x, w)
    b = Gather <axis = 1> (a, order)
    c = GatherElements <axis = 2> (b, places)
    d = GatherND(c, first)
    e = ReverseSequence <batch_axis = 0, time_axis = 1> (d, lengths)
    f = Trilu(e)
    g = Compress <axis = 1> (f, all)
    y = Relu(g)
  })"),
              R"(input %x: float32[1, 2, 5]
input %places: int64[1, 2, 5]
constant %order: int64[2] = {1, 0}
constant %first: int64[1, 1] = {0}
constant %lengths: int64[1] = {1}
constant %all: bool[2] = {1, 1}
constant %w/bfloat16: float32[2, 2, 1] = {1, -3, 4, 0}
%a: bfloat16[1, 2, 5] = Conv(%x, %w/bfloat16) {auto_pad="NOTSET", group=1}
%b: bfloat16[1, 2, 5] = Gather(%a, %order) {axis=1}
%c: bfloat16[1, 2, 5] = GatherElements(%b, %places) {axis=2}
%d: bfloat16[1, 2, 5] = GatherND(%c, %first) {batch_dims=0}
%e: bfloat16[1, 2, 5] = ReverseSequence(%d, %lengths) {batch_axis=0, time_axis=1}
%f: bfloat16[1, 2, 5] = Trilu(%e) {upper=1}
%g: bfloat16[1, 2, 5] = Compress(%f, %all) {axis=1}
%y: float32[1, 2, 5] = Relu(%g)
output %y
)");
}

// The Cast runs if the node does that makes the value.
TEST(ReducePrecision, CastsInTheBranchOfTheValue) {
  expect_text(narrowed(R"((float[1, 8, 5] x, bool test) => (y) <float[8, 8, 1] w> {
    y = If (test) <
      then_branch = yes () => (p) { e = Exp(x) p = Conv(e, w) },
      else_branch = no () => (q) { q = Conv(x, w) }
    >
  })"),
              R"(input %x: float32[1, 8, 5]
input %test: bool[]
constant %w/bfloat16: float32[8, 8, 1]
constant %w/bfloat16: float32[8, 8, 1]
%x/bfloat16: bfloat16[1, 8, 5] = Cast(%x) {to=16}
%y/then_branch/e: float32[1, 8, 5] = Exp(%x)
%y/then_branch/e/bfloat16: bfloat16[1, 8, 5] = Cast(%y/then_branch/e) {to=16}
%y/then_branch/p: bfloat16[1, 8, 5] = Conv(%y/then_branch/e/bfloat16, %w/bfloat16) {auto_pad="NOTSET", group=1}
%y/else_branch/q: bfloat16[1, 8, 5] = Conv(%x/bfloat16, %w/bfloat16) {auto_pad="NOTSET", group=1}
%y/then_branch/p/float32: float32[1, 8, 5] = Cast(%y/then_branch/p) {to=1}
%y/else_branch/q/float32: float32[1, 8, 5] = Cast(%y/else_branch/q) {to=1}
%y: float32[1, 8, 5] = If(%test, %y/then_branch/p/float32, %y/else_branch/q/float32)
output %y
)");
}

}  // namespace
}  // namespace onnxc
