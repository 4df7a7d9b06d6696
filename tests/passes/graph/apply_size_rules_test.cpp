#include "passes/graph/apply_size_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "passes/graph_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

// The graph after the pass, without attributes, which it does not touch, and in front of it the rules.
std::string ruled(const std::string& before) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(before);
  apply_size_rules(*graph);
  verify(*graph);
  std::string text;
  for (const SizeRule& rule : graph->size_rules) {
    text += fmt::format("rule {} = {}", rule.symbol.name(), rule.legal);
    for (const SizeRule::Place& place : rule.places)
      text += fmt::format(", dim {} of %{}", place.axis, graph->inputs[place.input]->name);
    text += "\n";
  }
  return text + std::regex_replace(to_string(*graph), std::regex(R"(\) \{.*\})"), ")");
}

// Halved and doubled again, with a Concat of what it was before; then the same by an eighth.
TEST(ApplySizeRules, FindsTheMultiplesThatASkipConnectionNeeds) {
  expect_text(ruled(R"((float[N, 4, D] x) => (y) <float[3] twice = {1, 1, 2}, float[3] eightfold = {1, 1, 8}> {
    half = MaxPool <kernel_shape = [2], strides = [2]> (x)
    same = Resize(half, "", twice)
    first = Concat <axis = 1> (x, same)
    a = MaxPool <kernel_shape = [2], strides = [2]> (first)
    b = MaxPool <kernel_shape = [2], strides = [2]> (a)
    c = MaxPool <kernel_shape = [2], strides = [2]> (b)
    up = Resize(c, "", eightfold)
    y = Concat <axis = 1> (first, up)
  })"),
              R"(rule D = 8*n, dim 2 of %x
input %x: float32[N, 4, D]
constant %twice: float32[3] = {1, 1, 2}
constant %eightfold: float32[3] = {1, 1, 8}
%half: float32[N, 4, D//2] = MaxPool(%x)
%same: float32[N, 4, D] = Resize(%half, _, %twice)
%first: float32[N, 8, D] = Concat(%x, %same)
%a: float32[N, 8, D//2] = MaxPool(%first)
%b: float32[N, 8, D//4] = MaxPool(%a)
%c: float32[N, 8, D//8] = MaxPool(%b)
%up: float32[N, 8, D] = Resize(%c, _, %eightfold)
%y: float32[N, 16, D] = Concat(%first, %up)
output %y
)");
}

TEST(ApplySizeRules, MakesEqualDimsTheSame) {
  expect_text(ruled("(float[N, D] a, float[N, E] b) => (y) { y = Concat <axis = 0> (a, b) }"),
              R"(rule E = D, dim 1 of %b
input %a: float32[N, D]
input %b: float32[N, D]
%y: float32[2*N, D] = Concat(%a, %b)
output %y
)");
}

TEST(ApplySizeRules, KnowsTheOneSizeThatIsLegal) {
  expect_text(ruled("(float[N, 6] x) => (y) <int64[2] shape = {3, 8}> { y = Reshape(x, shape) }"),
              R"(rule N = 4, dim 0 of %x
input %x: float32[4, 6]
constant %shape: int64[2] = {3, 8}
%y: float32[3, 8] = Reshape(%x, %shape)
output %y
)");
}

TEST(ApplySizeRules, LeavesSeveralRemaindersToTheGuard) {
  expect_text(ruled(R"((float[1, 4, D] x) => (y) <float[3] twice = {1, 1, 2}> {
    every_second = MaxPool <kernel_shape = [1], strides = [2]> (x)
    half = MaxPool <kernel_shape = [2], strides = [2]> (every_second)
    up = Resize(half, "", twice)
    y = Concat <axis = 1> (every_second, up)
  })"),
              R"(rule D = 4*n or 4*n + 3, dim 2 of %x
input %x: float32[1, 4, D]
constant %twice: float32[3] = {1, 1, 2}
%every_second: float32[1, 4, (D + 1)//2] = MaxPool(%x)
%half: float32[1, 4, (D + 1)//4] = MaxPool(%every_second)
%up: float32[1, 4, 2*((D + 1)//4)] = Resize(%half, _, %twice)
%y: float32[1, 8, (D + 1)//2] = Concat(%every_second, %up)
guard (D + 1)//2 == 2*((D + 1)//4)  # node 'y' (Concat): dim 2 of every input must agree
output %y
)");
}

TEST(ApplySizeRules, RefusesAModelThatNoSizeFits) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(R"((float[N, 6] x) => (a, b, c)
      <int64[2] four = {4, 6}, int64[2] three = {3, 8}, int64[2] five = {5, 6}> {
    a = Reshape(x, four)
    b = Reshape(x, three)
    c = Reshape(x, five)
  })");
  try {
    apply_size_rules(*graph);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no size of N is legal"));
    EXPECT_THAT(error.what(), HasSubstr("(Reshape)"));
  }
}

}  // namespace
}  // namespace onnxc
