#include "passes/graph/widen_scores.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

TEST(WidenScores, KeepsFloat32BetweenAProductAndItsSoftmax) {
  expect_text(after(R"((float16[2, 3, 4] q, float16[2, 4, 5] k, float16[3, 5] mask) => (y) {
    a = MatMul(q, k)
    b = Add(a, mask)
    y = Softmax(b)
  })",
                    widen_scores),
              R"(input %q: float16[2, 3, 4]
input %k: float16[2, 4, 5]
input %mask: float16[3, 5]
%a: float32[2, 3, 5] = MatMul(%q, %k)
%b: float32[2, 3, 5] = Add(%a, %mask)
%y: float16[2, 3, 5] = Softmax(%b) {axis=-1}
output %y
)");
}

// Other readers of the scores, and an output, have them in the type that the model gives them.
// (As an output the value gives its name to the copy, hence a name that speaks of the other's type.)
TEST(WidenScores, CastsWhatOthersRead) {
  expect_text(after(R"((bfloat16[2, 3, 4] q, bfloat16[2, 4, 5] k, bfloat16 scale) => (y, a, c) {
    a = MatMul(q, k)
    b = Mul(a, scale)
    c = Relu(b)
    d = Cast <to = 1> (b)
    y = Softmax(d)
  })",
                    widen_scores),
              R"(input %q: bfloat16[2, 3, 4]
input %k: bfloat16[2, 4, 5]
input %scale: bfloat16[]
%a/bfloat16: float32[2, 3, 5] = MatMul(%q, %k)
%a: bfloat16[2, 3, 5] = Cast(%a/bfloat16) {to=16}
%b: float32[2, 3, 5] = Mul(%a/bfloat16, %scale)
%b/bfloat16: bfloat16[2, 3, 5] = Cast(%b) {to=16}
%c: bfloat16[2, 3, 5] = Relu(%b/bfloat16)
%d: float32[2, 3, 5] = Cast(%b) {to=1, saturate=1}
%y: float32[2, 3, 5] = Softmax(%d) {axis=-1}
output %y
output %a
output %c
)");
}

// Both parts of a sum of products, as a position's bias that queries multiply.
TEST(WidenScores, WidensEachProductOfASum) {
  expect_text(after(R"((float16[3, 4] q, float16[4, 5] k, float16[4, 5] positions) => (y) {
    a = MatMul(q, k)
    b = MatMul(q, positions)
    c = Add(a, b)
    y = Softmax(c)
  })",
                    widen_scores),
              R"(input %q: float16[3, 4]
input %k: float16[4, 5]
input %positions: float16[4, 5]
%a: float32[3, 5] = MatMul(%q, %k)
%b: float32[3, 5] = MatMul(%q, %positions)
%c: float32[3, 5] = Add(%a, %b)
%y: float16[3, 5] = Softmax(%c) {axis=-1}
output %y
)");
}

// Each sum reads the one before it twice: there are 2^60 ways back to the input.
TEST(WidenScores, LooksBackAFewNodesOnly) {
  std::string before = "(float16[3] x0) => (y) {\n";
  constexpr int sums = 60;
  for (int i = 0; i < sums; ++i) before += fmt::format("x{} = Add(x{}, x{})\n", i + 1, i, i);
  before += fmt::format("y = Softmax(x{}) }}", sums);
  EXPECT_EQ(after(before, widen_scores), to_string(*read_shaped_graph(before)));
}

TEST(WidenScores, LeavesOtherTypesAndOtherSources) {
  for (const char* before : {R"((float[3, 4] q, float[4, 5] k) => (y) {
    a = MatMul(q, k)
    y = Softmax(a)
  })",
                             R"((float16[3, 4] x, float16[4] z) => (y) {
    a = Add(x, z)
    y = Softmax(a)
  })",
                             R"((float16[3, 4] q, float16[4, 5] k) => (y) {
    a = MatMul(q, k)
    y = Relu(a)
  })"})
    EXPECT_EQ(after(before, widen_scores), to_string(*read_shaped_graph(before)));
}

}  // namespace
}  // namespace onnxc
