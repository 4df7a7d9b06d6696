#include "passes/recognition/scale_products.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

TEST(ScaleProducts, ScalesScoresInThePlaceOfQueriesAndKeys) {
  expect_text(after(R"((float[2, 3, 4] q, float[2, 4, 5] k, float[3, 5] mask) => (y)
      <float scale = {0.5}, float[1, 1, 1] root = {4}> {
    a = Mul(q, scale)
    b = Div(k, root)
    c = MatMul(a, b)
    d = Add(c, mask)
    y = Softmax(d)
  })",
                    scale_products),
              R"(input %q: float32[2, 3, 4]
input %k: float32[2, 4, 5]
input %mask: float32[3, 5]
constant %c/factor0: float32[] = {0.5}
constant %c/factor1: float32[] = {4}
%c/unscaled: float32[2, 3, 5] = MatMul(%q, %k)
%c/scaled0: float32[2, 3, 5] = Mul(%c/unscaled, %c/factor0)
%c/scaled1: float32[2, 3, 5] = Div(%c/scaled0, %c/factor1)
%d: float32[2, 3, 5] = Add(%c/scaled1, %mask)
%y: float32[2, 3, 5] = Softmax(%d) {axis=-1}
output %y
)");
}

TEST(ScaleProducts, LeavesWhatItWouldChange) {
  for (const char* before : {// Products of float16 that are not scaled may be beyond its range.
                             R"((float16[3, 4] q, float16[4, 5] k) => (y) <float16[1] c = {2}> {
    a = Mul(q, c)
    b = MatMul(a, k)
    y = Softmax(b)
  })",
                             // Each query has a factor of its own.
                             R"((float[3, 4] q, float[4, 5] k) => (y) <float[3, 1] c = {1, 2, 3}> {
    a = Mul(q, c)
    b = MatMul(a, k)
    y = Softmax(b)
  })",
                             // Somebody else reads the scaled queries.
                             R"((float[3, 4] q, float[4, 5] k) => (y, a) <float c = {2}> {
    a = Mul(q, c)
    b = MatMul(a, k)
    y = Softmax(b)
  })",
                             // Products that are not scaled may be beyond float32.
                             R"((float[3, 4] q, float[4, 5] k) => (y) <float c = {1.e-10}> {
    a = Mul(q, c)
    b = MatMul(a, k)
    y = Softmax(b)
  })",
                             // No softmax reads the product.
                             R"((float[3, 4] q, float[4, 5] k) => (y) <float c = {2}> {
    a = Mul(q, c)
    b = MatMul(a, k)
    y = Relu(b)
  })"})
    EXPECT_EQ(after(before, scale_products), to_string(*read_shaped_graph(before)));
}

}  // namespace
}  // namespace onnxc
