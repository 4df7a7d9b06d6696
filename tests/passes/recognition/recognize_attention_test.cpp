#include "passes/recognition/recognize_attention.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/recognition/recognize_operators.h"

namespace onnxc {
namespace {

// A row of the mask may hide every key.
TEST(RecognizeAttention, GuardsTheProductInThePlaceOfTheSoftmax) {
  expect_text(after(R"((float[2, 3, 5] scores, float[2, 5, 4] v, bool[3, 1] hidden) => (y) <float zero = {0}> {
    a = Softmax(scores)
    b = Where(hidden, zero, a)
    y = MatMul(b, v)
  })",
                    recognize_operators),
              R"(input %scores: float32[2, 3, 5]
input %v: float32[2, 5, 4]
input %hidden: bool[3, 1]
constant %y/masked: float32[] = {0}
%a: float32[2, 3, 5] = Softmax(%scores) {axis=-1}
%y/unguarded: float32[2, 3, 4] = MatMul(%a, %v)
%y: float32[2, 3, 4] = Where(%hidden, %y/masked, %y/unguarded)
output %y
)");
}

TEST(RecognizeAttention, AddsAndTestsNoMaskOfZeros) {
  expect_text(after(
                  R"((float[2, N, K] scores, float[2, K, 4] v) => (y)
      <float zero = {0}, int64[1] last = {-1}, float hidden = {-inf}> {
    size = Shape<start = 1>(scores)
    mask = ConstantOfShape(size)
    a = Add(scores, mask)
    b = Softmax(a)
    c = ReduceMax(mask, last)
    d = Equal(c, hidden)
    e = Where(d, zero, b)
    y = MatMul(e, v)
  })",
                  recognize_operators),
              R"(input %scores: float32[2, N, K]
input %v: float32[2, K, 4]
%b: float32[2, N, K] = Softmax(%scores) {axis=-1}
%y: float32[2, N, 4] = MatMul(%b, %v)
output %y
)");
}

TEST(RecognizeAttention, TestsAMaskThatHidesEveryKey) {
  const std::string graph = after(R"((float[2, N, K] scores, float[2, K, 4] v) => (y)
      <float zero = {0}, int64[1] last = {-1}, float hidden = {-inf}> {
    size = Shape<start = 1>(scores)
    mask = ConstantOfShape<value = float[1] {-inf}>(size)
    b = Softmax(scores)
    c = ReduceMax(mask, last)
    d = Equal(c, hidden)
    e = Where(d, zero, b)
    y = MatMul(e, v)
  })",
                                  recognize_operators);
  EXPECT_NE(graph.find("Where(%d, "), std::string::npos) << graph;
}

TEST(RecognizeAttention, LeavesWhatItWouldChange) {
  for (const char* before : {// Single keys are hidden, not rows.
                             R"((float[3, 5] s, float[5, 4] v, bool[3, 5] hidden) => (y) <float zero = {0}> {
    a = Softmax(s)
    b = Where(hidden, zero, a)
    y = MatMul(b, v)
  })",
                             // A hidden row is not zero.
                             R"((float[3, 5] s, float[5, 4] v, bool[3, 1] hidden) => (y) <float one = {1}> {
    a = Softmax(s)
    b = Where(hidden, one, a)
    y = MatMul(b, v)
  })"})
    EXPECT_EQ(after(before, recognize_operators), to_string(*read_shaped_graph(before)));
}

}  // namespace
}  // namespace onnxc
