#include "passes/graph/expand_sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

std::string expanded(const std::string& before) {
  const std::unique_ptr<Graph> graph = read_shaped_graph(before);
  verify(*graph);
  return to_string(*graph);
}

TEST(ExpandSequences, IdentityIsOneOfEachTensor) {
  expect_text(expanded(R"((float[2] x, float[3] y) => (z) {
    s = SequenceConstruct(x, y)
    t = Identity(s)
    z = ConcatFromSequence <axis = 0> (t)
  })"),
              R"(input %x: float32[2]
input %y: float32[3]
%t/Identity: float32[2] = Identity(%x)
%t/Identity: float32[3] = Identity(%y)
%z: float32[5] = Concat(%t/Identity, %t/Identity) {axis=0}
output %z
)");
}

TEST(ExpandSequences, IfIsOneForEachTensor) {
  expect_text(expanded(R"((bool c, float[2] x, float[3] y) => (z) {
    s = If(c) <
      then_branch = a () => (t) { t = SequenceConstruct(x, y) },
      else_branch = b () => (u) { n = Neg(x) u = SequenceConstruct(n, x) }
    >
    z = ConcatFromSequence <axis = 0> (s)
  })"),
              R"(input %c: bool[]
input %x: float32[2]
input %y: float32[3]
%s/else_branch/n: float32[2] = Neg(%x)
%s/If: float32[2] = If(%c, %x, %s/else_branch/n)
%s/If: float32[s_If_dim0] = If(%c, %y, %x)
%z: float32[s_If_dim0 + 2] = Concat(%s/If, %s/If) {axis=0}
output %z
)");
}

TEST(ExpandSequences, RoundsFollowOneAnother) {
  expect_text(expanded(R"((float[2] x) => (z, sums) <int64[1] zero> {
    n = Constant <value_int = 2> ()
    e = SequenceEmpty()
    s, sums = Loop(n, , e) <
      body = b (int64 i, bool k, seq(float[2]) p) => (k, q, t) {
        real = Cast <to = 1> (i)
        t = Add(x, real)
        q = SequenceInsert(p, t)
      }
    >
    z = ConcatFromSequence <axis = 0> (s)
  })"),
              R"(input %x: float32[2]
constant %s/constant: int64[1] = {0}
constant %s/constant: int64[1] = {0}
constant %s/real@0: float32[] = {0}
constant %s/real@1: float32[] = {1}
%s/t@0: float32[2] = Add(%x, %s/real@0)
%s/t@1: float32[2] = Add(%x, %s/real@1)
%s/Identity: float32[2] = Identity(%s/t@0)
%s/Identity: float32[2] = Identity(%s/t@1)
%s/Unsqueeze: float32[1, 2] = Unsqueeze(%s/t@0, %s/constant)
%s/Unsqueeze: float32[1, 2] = Unsqueeze(%s/t@1, %s/constant)
%sums: float32[2, 2] = Concat(%s/Unsqueeze, %s/Unsqueeze) {axis=0}
%z: float32[4] = Concat(%s/Identity, %s/Identity) {axis=0}
output %z
output %sums
)");
}

TEST(ExpandSequences, WhatRoundsAddIsCollected) {
  expect_text(expanded(R"((int64 n, float[2] x) => (y, z) {
    e = SequenceEmpty()
    y, s = Loop(n, , x, e) <
      body = b (int64 i, bool k, float[2] p, seq(float[2]) q) => (k, r, t) {
        r = Neg(p)
        t = SequenceInsert(q, p)
      }
    >
    z = ConcatFromSequence <axis = 0> (s)
  })"),
              R"(input %n: int64[]
input %x: float32[2]
%y/i: int64[], %y/k: bool[], %y/p: float32[2] = Loop(%n, _, %x) {carried=1, axes=[], directions=[]}  # [y_i]
%y/r: float32[2] = Neg(%y/p)
%y: float32[2], %s/stack: float32[max(0, n), 2] = Loop(%y/i, %y/k, %y/p, %y/k, %y/r, %y/p) {carried=1, axes=[], directions=[]}
%z/Transpose: float32[max(0, n), 2] = Transpose(%s/stack) {perm=[0, 1]}
%z/Shape: int64[1] = Shape(%z/Transpose) {start=0, end=1}  # [max(0, n)]
%z/Shape: int64[1] = Shape(%z/Transpose) {start=1, end=2}  # [2]
%z/Mul: int64[1] = Mul(%z/Shape, %z/Shape)  # [2*max(0, n)]
%z/Concat: int64[1] = Concat(%z/Mul) {axis=0}  # [2*max(0, n)]
%z: float32[z_dim0] = Reshape(%z/Transpose, %z/Concat) {allowzero=1}
guard 2*max(0, n) == z_dim0  # node 'z' (ConcatFromSequence, in its Reshape): 2*max(0, n) elements of the input [max(0, n), 2] cannot take the shape [2*max(0, n)]
output %y
output %z
)");
}

TEST(ExpandSequences, LoopsOfTensorsStay) {
  expect_text(expanded(R"((int64 n, float[2] x, float[2] y) => (z) {
    s = SequenceConstruct(x, y)
    z = Loop(n, , x) <
      body = b (int64 i, bool k, float[2] p) => (k, q) {
        each = SequenceAt(s, i)
        q = Add(p, each)
      }
    >
  })"),
              R"(input %n: int64[]
input %x: float32[2]
input %y: float32[2]
constant %z/each/constant: int64[0] = {}
constant %z/each/constant: int64[] = {0}
constant %z/each/constant: int64[] = {2}
constant %z/each/constant: int64[] = {1}
%z/i: int64[], %z/k: bool[], %z/p: float32[2] = Loop(%n, _, %x) {carried=1, axes=[], directions=[]}  # [z_i]
%z/each/Reshape: int64[] = Reshape(%z/i, %z/each/constant)  # [z_i]
%z/each/Cast: int64[] = Cast(%z/each/Reshape) {to=7}  # [z_i]
%z/each/Less: bool[] = Less(%z/each/Cast, %z/each/constant)  # [0]
%z/each/Add: int64[] = Add(%z/each/Cast, %z/each/constant)  # [z_i + 2]
%z/each/Where: int64[] = Where(%z/each/Less, %z/each/Add, %z/each/Cast)  # [z_i]
%z/each/Less: bool[] = Less(%z/each/Where, %z/each/constant)  # [z_each_Less]
%z/each/Identity: float32[2] = Identity(%x)
%z/each/Identity: float32[2] = Identity(%y)
%z/each/If: float32[2] = If(%z/each/Less, %z/each/Identity, %z/each/Identity)
%z/each: float32[2] = Identity(%z/each/If)
%z/q: float32[2] = Add(%z/p, %z/each)
%z: float32[2] = Loop(%z/i, %z/k, %z/p, %z/k, %z/q) {carried=1, axes=[], directions=[]}
output %z
)");
}

TEST(ExpandSequences, OutputsAreOneForEachTensor) {
  expect_text(expanded(R"((float[2, 3] x) => (seq(float[3]) s, n) {
    s = SplitToSequence <axis = 0, keepdims = 0> (x)
    n = SequenceLength(s)
  })"),
              R"(input %x: float32[2, 3]
constant %s/constant: int64[2] = {1, 1}
constant %s/constant: int64[1] = {0}
constant %s/constant: int64[1] = {0}
constant %n/constant: int64[] = {2}
%s/Split: float32[1, 3], %s/Split: float32[1, 3] = Split(%x, %s/constant) {axis=0}
%s/Squeeze: float32[3] = Squeeze(%s/Split, %s/constant)
%s/Squeeze: float32[3] = Squeeze(%s/Split, %s/constant)
%n: int64[] = Identity(%n/constant)  # [2]
%s[0]: float32[3] = Identity(%s/Squeeze)
%s[1]: float32[3] = Identity(%s/Squeeze)
output %s[0]
output %s[1]
output %n
)");
}

TEST(ExpandSequences, AnOutputMustHoldSomething) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      expanded(text);
      return "no error";
    } catch (const UserError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(error_of("(float[2] x) => (y, seq(float[2]) s) { y = Neg(x) s = SequenceEmpty() }"), "no error");
  EXPECT_EQ(error_of("(float[2] x) => (seq(float[2]) s) { s = SequenceEmpty() }"),
            "the model gives only empty sequences: there is nothing to compute");
  EXPECT_EQ(error_of("(float[2] x) => (y, o) { y = Neg(x) o = Optional() }"),
            "the output 'o' is an optional without an element; drop it with --outputs");
}

}  // namespace
}  // namespace onnxc
