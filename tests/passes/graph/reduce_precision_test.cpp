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
%q: bfloat16[1, 3, 4] = MatMul(%x, %w/bfloat16)
%z/bfloat16: bfloat16[1, 4, 3] = Cast(%z) {to=16}
%s: bfloat16[1, 3, 3] = MatMul(%q, %z/bfloat16)
%p: bfloat16[1, 3, 3] = Softmax(%s) {axis=-1}
%o: bfloat16[1, 3, 4] = MatMul(%p, %q)
%r: bfloat16[3, 4] = Reshape(%o, %shape) {allowzero=0}
%y: float32[3, 2] = Gemm(%r, %v) {alpha=1.0, beta=1.0, transA=0, transB=0}
output %y
)");
}

}  // namespace
}  // namespace onnxc
