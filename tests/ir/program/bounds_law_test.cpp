// The law of bounds: what the verifier refuses, and what it must not.
#include "ir/program/bounds_law.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/program/parser.h"
#include "ir/program/verifier_message.h"
#include "ir/program_builder.h"

namespace onnxc {
namespace {

using testing::HasSubstr;

// x[9], an index[4], y[4] and a flag, then what is given. Before it, lines of dims and guards.
std::string fault(const std::string& steps, const std::string& before = "") {
  return verifier_message(parse_program(before + R"(b0 input float32 [9] "x"
b1 input int64 [4] "index"
b2 output float32 [4] "y"
inputs b0, b1
outputs b2
)" + steps));
}

TEST(BoundsLaw, AnIndexBesideItsAxis) {
  EXPECT_EQ(fault("nest n  axes i<4\n  b2[i] = b0[2*i + 2]\n"), "");
  EXPECT_THAT(fault("nest n  axes i<4\n  b2[i] = b0[2*i + 3]\n"),
              HasSubstr("nest n in a store loads b0 at 2*i + 3 of axis 0, which is not shown to be within 9"));
  EXPECT_THAT(fault("nest n  axes i<4\n  b2[i] = b0[i - 1]\n"), HasSubstr("loads b0 at i - 1 of axis 0"));
  EXPECT_THAT(fault("nest n  axes i<5\n  b2[i] = b0[i]\n"), HasSubstr("nest n stores b2 at i of axis 0"));
}

// The elements of a tensor may be any number.
TEST(BoundsLaw, ALetAsAnIndex) {
  const auto gather = [](const std::string& element) {
    return fault("nest n  axes i<4\n  let j0 = b1[i]\n  b2[i] = " + element + "\n");
  };
  EXPECT_THAT(gather("b0[j0]"), HasSubstr("in a store loads b0 at j0 of axis 0"));
  EXPECT_THAT(gather("b0[min(j0, 8)]"), HasSubstr("loads b0 at min(j0, 8)"));
  EXPECT_EQ(gather("b0[max(0, min(j0, 8))]"), "");
  EXPECT_EQ(gather("select(0 <= index(j0) && index(j0) < 9, b0[j0], 0.0)"), "");
}

TEST(BoundsLaw, WhatTheValueOfALetSays) {
  const auto gather = [](const std::string& value) {
    return fault("nest n  axes i<4\n  let j0 = " + value + "\n  b2[i] = b0[j0]\n");
  };
  EXPECT_EQ(gather("max(min(b1[i], 8), 0)"), "");
  EXPECT_EQ(gather("select(b1[i] < 3, index(i), 8)"), "");
  EXPECT_EQ(gather("int64(b1[i] < 3)"), "");
  EXPECT_NE(gather("max(b1[i], 0)"), "");
  EXPECT_NE(gather("select(b1[i] < 3, b1[i], 8)"), "");
}

// NonZero of constant zeros: the store that was tested became one that is never made.
TEST(BoundsLaw, WhatStandsBehindTheOtherConstantNeverRuns) {
  EXPECT_EQ(fault("nest n  axes i<4\n  b2[i + 4] = 1.0 if false\n"), "");
  EXPECT_NE(fault("nest n  axes i<4\n  b2[i + 4] = 1.0 if true\n"), "");
}

// It is computed wherever its nest is, whatever is chosen there: indices were read in the padding of a pool.
TEST(BoundsLaw, ALetDoesNotStandBehindASelect) {
  EXPECT_THAT(fault(R"(nest n  axes i<4
  let j0 = b1[i - 1]
  b2[i] = select(1 <= index(i), b0[max(0, min(j0, 8))], 0.0)
)"),
              HasSubstr("nest n in let j0 loads b1 at i - 1 of axis 0, which is not shown to be within 4"));
  EXPECT_EQ(fault(R"(nest n  axes i<4
  let j0 = select(1 <= index(i), b1[i - 1], 0)
  b2[i] = b0[max(0, min(j0, 8))]
)"),
            "");
}

TEST(BoundsLaw, ASelectDecidesBeforeItLoads) {
  const auto stored = [](const std::string& value) { return fault("nest n  axes i<4\n  b2[i] = " + value + "\n"); };
  EXPECT_EQ(stored("select(1 <= index(i), b0[i - 1], 0.0)"), "");
  EXPECT_EQ(stored("select(index(i) < 1, 0.0, b0[i - 1])"), "");
  EXPECT_EQ(stored("select(index(i) == 0, 0.0, b0[i - 1])"), "");
  EXPECT_EQ(stored("select(!(index(i) < 1 || index(i) == 3), b0[7*i - 6], 0.0)"), "");
  EXPECT_EQ(stored("select(select(1 <= index(i), b0[i] < 1.0, false), b0[i - 1], 0.0)"), "");
  EXPECT_NE(stored("select(index(i) < 1, b0[i - 1], 0.0)"), "");
  EXPECT_NE(stored("select(index(i) < 1 && index(i) < 2, 0.0, b0[i - 1])"), "");
}

TEST(BoundsLaw, AnAndComputesBothOfItsOperands) {
  EXPECT_THAT(fault(R"(nest n  axes i<4
  b2[i] = select(1 <= index(i) && b0[i - 1] < 2.0, 1.0, 0.0)
)"),
              HasSubstr("loads b0 at i - 1"));
}

TEST(BoundsLaw, AConditionOfAStore) {
  EXPECT_EQ(fault("nest n  axes i<6\n  b2[i - 1] = b0[2*i - 2] if 1 <= index(i) && index(i) < 5\n"), "");
  EXPECT_THAT(fault("nest n  axes i<4\n  b2[i] = 1.0 if b0[i - 1] < 2.0\n"),
              HasSubstr("in the condition of a store loads b0 at i - 1"));
}

// Axes with extents that depend on a dim without known bounds.
TEST(BoundsLaw, ALoopThatRunsHasElements) {
  const auto free = [](const std::string& steps, const std::string& guard = "") {
    return verifier_message(parse_program(R"(b0 input float32 [N] "x"
b1 input int64 [N] "index"
b2 output float32 [N] "y"
b3 output float32 [4] "z"
inputs b0, b1
outputs b2, b3
)" + guard + "nest y  axes i<N\n  b2[i] = 1.0\n" +
                                          steps));
  };
  EXPECT_EQ(free("nest n  axes i<4, k<N\n  b3[i] = b0[0]\n"), "");
  EXPECT_THAT(free("nest n  axes i<4\n  b3[i] = b0[0]\n"), HasSubstr("loads b0 at 0 of axis 0"));
  EXPECT_EQ(free("nest n  axes i<4\n  b3[i] = b0[0]\n", "guard N >= 1 \"it has elements\"\n"), "");
  EXPECT_EQ(free("nest n  axes i<4\n  b3[i] = b0[i]\n", "guard N == 4 \"it has four\"\n"), "");
  EXPECT_EQ(free("nest n  axes i<4\n  b3[i] = select(0 < index(N), b0[0], 0.0)\n"), "");
  // An accumulator is folded when the axis runs; a let that does not name the axis is computed also when it does not.
  EXPECT_EQ(free("nest n  axes i<4  reduce k<N\n  acc0: float32 = sum b0[N - 1]\n  b3[i] = acc0\n"), "");
  EXPECT_THAT(free("nest n  axes i<4  reduce k<N\n  let j0 = b1[0]\n  acc0: float32 = sum b0[k]\n  b3[i] = acc0\n"),
              HasSubstr("in let j0 loads b1 at 0"));
  EXPECT_EQ(free("nest n  axes i<4  reduce k<N\n  let j0 = b1[k]\n  let j1 = b1[max(0, min(j0, N - 1))]\n"
                 "  acc0: float32 = sum b0[max(0, min(j1, N - 1))]\n  b3[i] = acc0\n"),
            "");
}

TEST(BoundsLaw, WhatNeverRunsIsLawful) {
  EXPECT_EQ(fault("nest y  axes i<4\n  b2[i] = 1.0\nnest n  axes i<0\n  b2[i] = b0[i + 20]\n"), "");
  EXPECT_EQ(fault("nest n  axes i<4\n  b2[i] = select(index(i) < 1 && 2 <= index(i), b0[i + 20], 1.0)\n"), "");
}

// A guard on a size that only a run knows is checked when that is bound: not before.
TEST(BoundsLaw, AGuardCountsWhereItHasBeenChecked) {
  const auto bound = [](const std::string& first, const std::string& second) {
    return verifier_message(parse_program(R"(dim s 0..
b0 input float32 [N] "x"
b1 input int64 [1] "s"
b2 output float32 [4] "y"
inputs b0, b1
outputs b2
guard N >= s + 1 "as many as x has"
)" + first + second));
  };
  const std::string bind = "bind s = b1\n", nest = "nest n  axes i<4\n  b2[i] = b0[0]\n";
  EXPECT_EQ(bound(bind, nest), "");
  EXPECT_THAT(bound(nest, bind), HasSubstr("loads b0 at 0"));
}

TEST(BoundsLaw, AGuardOfABranchCountsInThatBranch) {
  const auto in_branch = [](const std::string& when) {
    return verifier_message(parse_program(R"(dim c 0..1
b0 input float32 [N] "x"
b1 input int64 [1] "c"
b2 output float32 [4] "y"
inputs b0, b1
outputs b2
guard N >= 4 "four" when c
bind c = b1
)" + when + "nest n  axes i<4\n  b2[i] = b0[i]\n"));
  };
  EXPECT_EQ(in_branch("when c\n"), "");
  EXPECT_NE(in_branch(""), "");
}

TEST(BoundsLaw, TheRoundsOfALoop) {
  const auto in_loop = [](const std::string& place) {
    return verifier_message(parse_program(R"(dim round ..
b0 input float32 [N, 4] "x"
b1 output float32 [4] "y"
inputs b0
outputs b1
nest start  axes i<4
  b1[i] = 0.0
loop round < N carries b1
nest n  axes i<4
  b1[i] = b1[i] + b0[)" + place + R"(, i]
end loop
)"));
  };
  EXPECT_EQ(in_loop("round"), "");
  EXPECT_EQ(in_loop("N - 1 - round"), "");
  EXPECT_NE(in_loop("round + 1"), "");
}

TEST(BoundsLaw, EpiloguesOfKernels) {
  const auto epilogue = [](const std::string& value) {
    return verifier_message(parse_program(R"(b0 input float32 [2, 8, 5] "x"
b1 input float32 [8] "bias"
b2 output float32 [2, 8, 5] "y"
inputs b0, b1
outputs b2
kernel conv  b2 = b0
  epilogue [i, j, k] )" + value + "\n"));
  };
  EXPECT_EQ(epilogue("acc0 + b1[j]"), "");
  EXPECT_THAT(epilogue("acc0 + b1[j + 1]"), HasSubstr("kernel conv in an epilogue loads b1 at j + 1 of axis 0"));
}

}  // namespace
}  // namespace onnxc
