#include "passes/graph/widen_scores.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/op.h"
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

// The second softmax reads what the first one does.
TEST(WidenScores, WidensOneValueForTwoSoftmaxes) {
  expect_text(after(R"((float16[3, 4] q, float16[4, 5] k) => (y, z) {
    a = MatMul(q, k)
    y = Softmax(a)
    z = Softmax <axis = 0> (a)
  })",
                    widen_scores),
              R"(input %q: float16[3, 4]
input %k: float16[4, 5]
%a: float32[3, 5] = MatMul(%q, %k)
%y: float16[3, 5] = Softmax(%a) {axis=-1}
%z: float16[3, 5] = Softmax(%a) {axis=0}
output %y
output %z
)");
}

TEST(WidenScores, WidensTheOtherSideOfAWhere) {
  expect_text(after(R"((float16[3, 4] q, float16[4, 5] k, bool[3, 5] seen, float16 hidden) => (y) {
    a = MatMul(q, k)
    b = Where(seen, a, hidden)
    y = Softmax(b)
  })",
                    widen_scores),
              R"(input %q: float16[3, 4]
input %k: float16[4, 5]
input %seen: bool[3, 5]
input %hidden: float16[]
%a: float32[3, 5] = MatMul(%q, %k)
%hidden/float32: float32[] = Cast(%hidden) {to=1}
%b: float32[3, 5] = Where(%seen, %a, %hidden/float32)
%y: float16[3, 5] = Softmax(%b) {axis=-1}
output %y
)");
}

// The Cast for the branch that is taken without the softmax runs if the product does.
TEST(WidenScores, CastsOutsideTheBranchThatReadsTheScores) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(R"((float16[3, 4] q, float16[4, 5] k, bool c) => (y) {
    a = MatMul(q, k)
    y = If(c) <then_branch = first () => (float16[3, 5] s) { s = Softmax(a) },
               else_branch = second () => (float16[3, 5] r) { r = Relu(a) }>
  })");
  widen_scores(*graph);
  verify(*graph);
  int casts = 0;
  for (const auto& node : graph->nodes()) {
    if (!is_operator(node.get(), "Cast")) continue;
    ++casts;
    EXPECT_EQ(node->branch, nullptr);
  }
  EXPECT_EQ(casts, 1);
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
