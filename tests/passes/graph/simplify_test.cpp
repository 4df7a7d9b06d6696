#include "passes/graph/simplify.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"

namespace onnxc {
namespace {

struct Case {
  const char* name;
  const char* before;
};

std::string name_of(const testing::TestParamInfo<Case>& test) { return test.param.name; }

class SimplifyDrops : public testing::TestWithParam<Case> {};

TEST_P(SimplifyDrops, WhatDoesNothing) {
  expect_text(after(GetParam().before, simplify), R"(input %x: float32[2, 3]
%a: float32[2, 3] = Neg(%x)
%y: float32[2, 3] = Exp(%a)
output %y
)");
}

const Case nothings[] = {
    {"Identity", "(float[2, 3] x) => (y) { a = Neg(x)  b = Identity(a)  y = Exp(b) }"},
    {"Dropout", "(float[2, 3] x) => (y) { a = Neg(x)  b = Dropout(a)  y = Exp(b) }"},
    {"CastToItsType", "(float[2, 3] x) => (y) { a = Neg(x)  b = Cast <to = 1> (a)  y = Exp(b) }"},
    {"ReshapeToItsShape",
     "(float[2, 3] x) => (y) <int64[2] shape = {2, -1}> { a = Neg(x)  b = Reshape(a, shape)  y = Exp(b) }"},
    {"FlattenOfAMatrix", "(float[2, 3] x) => (y) { a = Neg(x)  b = Flatten(a)  y = Exp(b) }"},
    {"ExpandToItsShape",
     "(float[2, 3] x) => (y) <int64[2] shape = {1, 3}> { a = Neg(x)  b = Expand(a, shape)  y = Exp(b) }"},
    {"TransposeThatKeepsTheOrder",
     "(float[2, 3] x) => (y) { a = Neg(x)  b = Transpose <perm = [0, 1]> (a)  y = Exp(b) }"},
    {"ConcatOfOne", "(float[2, 3] x) => (y) { a = Neg(x)  b = Concat <axis = 0> (a)  y = Exp(b) }"},
    {"WhereThatTakesOneSide",
     "(float[2, 3] x) => (y) <bool[2, 1] c = {0, 0}, float d = {1}> { a = Neg(x)  b = Where(c, d, a)  y = Exp(b) }"},
    {"WhereThatTakesTheFirstSide",
     "(float[2, 3] x) => (y) <bool c = {1}, float d = {1}> { a = Neg(x)  b = Where(c, a, d)  y = Exp(b) }"},
    {"SumOfOne", "(float[2, 3] x) => (y) { a = Neg(x)  b = Sum(a)  y = Exp(b) }"},
};

INSTANTIATE_TEST_SUITE_P(Nodes, SimplifyDrops, testing::ValuesIn(nothings), name_of);

class SimplifyKeeps : public testing::TestWithParam<Case> {};

TEST_P(SimplifyKeeps, WhatDoesSomething) {
  EXPECT_EQ(after(GetParam().before, simplify), to_string(*read_shaped_graph(GetParam().before)));
}

const Case somethings[] = {
    {"Cast", "(float[2, 3] x) => (y) { a = Neg(x)  b = Cast <to = 11> (a)  y = Neg(b) }"},
    {"Reshape", "(float[2, 3] x) => (y) <int64[2] shape = {3, 2}> { a = Neg(x)  b = Reshape(a, shape)  y = Neg(b) }"},
    {"Expand", "(float[2, 3] x) => (y) <int64[3] shape = {2, 2, 3}> { a = Neg(x)  b = Expand(a, shape)  y = Neg(b) }"},
    {"Transpose", "(float[2, 3] x) => (y) { a = Neg(x)  b = Transpose(a)  y = Neg(b) }"},
    {"WhereOfBothSides",
     "(float[2, 3] x) => (y) <bool[2, 1] c = {0, 1}, float d = {1}> { a = Neg(x)  b = Where(c, d, a)  y = Neg(b) }"},
    {"WhereThatSpreads",
     "(float[3] x) => (y) <bool[2, 1] c = {1, 1}, float d = {1}> { a = Neg(x)  b = Where(c, a, d)  y = Neg(b) }"},
    {"Concat", "(float[2, 3] x) => (y) { a = Neg(x)  b = Concat <axis = 0> (a, a)  y = Neg(b) }"},
};

INSTANTIATE_TEST_SUITE_P(Nodes, SimplifyKeeps, testing::ValuesIn(somethings), name_of);

// Users of the model know the output by its name, so the value that takes its place takes the name too.
TEST(Simplify, AnOutputKeepsItsName) {
  expect_text(after("(float[2] x) => (result) { a = Neg(x)  result = Identity(a) }", simplify),
              R"(input %x: float32[2]
%result: float32[2] = Neg(%x)
output %result
)");
}

TEST(Simplify, AnInputDoesNotBecomeAnOutput) {
  expect_text(after("(float[2] x) => (result) { result = Identity(x) }", simplify),
              R"(input %x: float32[2]
%result: float32[2] = Identity(%x)
output %result
)");
}

// The importer leaves out nodes that no output needs; passes before this one may leave more of them.
TEST(Simplify, WhatNobodyUsesGoes) {
  const auto graph = read_shaped_graph(
      "(float[2] x) => (y, unused) <float[1] w = {2}> { y = Neg(x)  a = Exp(x)  unused = Mul(a, w) }");
  graph->outputs.pop_back();
  simplify(*graph);
  verify(*graph);
  expect_text(to_string(*graph), R"(input %x: float32[2]
%y: float32[2] = Neg(%x)
output %y
)");
}

}  // namespace
}  // namespace onnxc
