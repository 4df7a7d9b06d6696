#include "passes/states/bind_states.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string bound(std::string_view before, const std::vector<StateNames>& states = {{"cache", "next"}}) {
  return after(before, [&](Program& program) { bind_states(program, states); });
}

TEST(BindStates, AnOutputThatIsWrittenAfterTheLastReadBecomesAnAlias) {
  expect_text(bound(R"(b0 input float32 [3] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "y"
b3 output float32 [2] "next"
inputs b0, b1
outputs b2, b3
nest exp  axes i<2
  b2[i] = exp(b1[i])
nest slice  axes i<2
  b3[i] = b0[i + 1]
)"),
              R"(b0 input float32 [3] "x"
b1 state float32 [2] "cache"
b2 output float32 [2] "y"
b3 temporary float32 [2] alias b1 "next"
inputs b0
outputs b2
state b1 "cache"
nest exp  axes i<2
  b2[i] = exp(b1[i])
nest slice  axes i<2
  b3[i] = b0[i + 1]
)");
}

TEST(BindStates, AnOutputThatIsWrittenBeforeTheLastReadIsWrittenLater) {
  expect_text(bound(R"(b0 input float32 [3] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "y"
b3 output float32 [2] "next"
inputs b0, b1
outputs b2, b3
nest slice  axes i<2
  b3[i] = b0[i + 1]
nest exp  axes i<2
  b2[i] = exp(b1[i])
)"),
              R"(b0 input float32 [3] "x"
b1 state float32 [2] "cache"
b2 output float32 [2] "y"
b3 temporary float32 [2] alias b1 "next"
inputs b0
outputs b2
state b1 "cache"
nest exp  axes i<2
  b2[i] = exp(b1[i])
nest slice  axes i<2
  b3[i] = b0[i + 1]
)");
}

TEST(BindStates, AnOutputThatIsReadBeforeTheLastReadIsCopied) {
  expect_text(bound(R"(b0 input float32 [3] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "y"
b3 output float32 [2] "next"
b4 output float32 [2] "z"
inputs b0, b1
outputs b2, b3, b4
nest slice  axes i<2
  b3[i] = b0[i + 1]
nest add  axes i<2
  b2[i] = b1[i] + b3[1 - i]
nest log  axes i<2
  b4[i] = log(b2[i])
)"),
              R"(b0 input float32 [3] "x"
b1 state float32 [2] "cache"
b2 output float32 [2] "y"
b3 temporary float32 [2] "next"
b4 output float32 [2] "z"
inputs b0
outputs b2, b4
state b1 "cache"
nest slice  axes i<2
  b3[i] = b0[i + 1]
nest add  axes i<2
  b2[i] = b1[i] + b3[-i + 1]
# "cache" State-0
nest copy  axes i0<2
  b1[i0] = b3[i0]
nest log  axes i<2
  b4[i] = log(b2[i])
)");
}

// A step finds what it reads only at its own place.
TEST(BindStates, AnOutputOfMemoryThatIsWrittenAgainIsCopied) {
  const std::string text = bound(R"(b0 input float32 [2] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "y"
b3 output float32 [2] "next"
b4 temporary float32 [2] "t"
inputs b0, b1
outputs b2, b3
nest exp  axes i<2
  b4[i] = exp(b0[i])
nest neg  axes i<2
  b3[i] = -b4[i]
nest log  axes i<2
  b4[i] = log(b0[i])
nest add  axes i<2
  b2[i] = b1[i] + b4[i]
)");
  EXPECT_TRUE(text.ends_with("nest copy  axes i0<2\n  b1[i0] = b3[i0]\n")) << text;
}

// Two frames that move by one: the first is overwritten before the second, when all have read them.
TEST(BindStates, FramesMoveWithinTheState) {
  expect_text(bound(R"(b0 input float32 [1, W] "x"
b1 input float32 [2, W] "cache"
b2 output float32 [3, W] "seen"
b3 output float32 [2, W] "next"
b4 temporary float32 [1, W] view b3 [0, 0] "next"
b5 temporary float32 [1, W] view b3 [1, 0] "next"
inputs b0, b1
outputs b2, b3
nest last  axes t<1, i<W
  b4[t, i] = b1[t + 1, i]
nest new  axes t<1, i<W
  b5[t, i] = b0[t, i]
nest before  axes t<2, i<W
  b2[t, i] = b1[t, i]
nest after  axes t<1, i<W
  b2[t + 2, i] = b0[t, i]
)"),
              R"(b0 input float32 [1, W] "x"
b1 state float32 [2, W] "cache"
b2 output float32 [3, W] "seen"
b3 temporary float32 [2, W] alias b1 "next"
b4 temporary float32 [1, W] view b3 [0, 0] "next"
b5 temporary float32 [1, W] view b3 [1, 0] "next"
inputs b0
outputs b2
state b1 "cache"
nest before  axes t<2, i<W
  b2[t, i] = b1[t, i]
nest last  axes t<1, i<W
  b4[t, i] = b1[t + 1, i]
nest new  axes t<1, i<W
  b5[t, i] = b0[t, i]
nest after  axes t<1, i<W
  b2[t + 2, i] = b0[t, i]
)");
}

// A step that both reads and writes: each element by itself may be written in place.
TEST(BindStates, AStepMayReplaceTheElementsThatItReads) {
  constexpr const char* before = R"(b0 input float32 [2] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "next"
inputs b0, b1
outputs b2
nest add  axes i<2
  b2[i] = b1[i] + b0[i]
)";
  const std::string text = bound(before);
  EXPECT_NE(text.find("b2 temporary float32 [2] alias b1 \"next\"\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("nest copy"), std::string::npos) << text;
}

TEST(BindStates, AStepThatReadsOtherElementsIsCopied) {
  for (const char* step :
       {"nest shift  axes i<2\n  b2[i] = b1[1 - i] + b0[i]\n", "nest last  axes i<2\n  b2[i] = b1[0] + b0[i]\n",
        "nest sum  axes i<2  reduce j<2\n  acc0: float32 = sum b1[j]\n  b2[i] = acc0\n",
        "nest two  axes i<2\n  b2[i] = b0[i]\n  b3[i] = b1[i]\n",
        "nest scan  axes n<1  ordered i<2\n  b2[i] = b1[1 - i]\n", "kernel fancy  b2 = b0, b1\n"}) {
    const std::string text = bound(R"(b0 input float32 [2] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "next"
b3 temporary float32 [2] "t"
inputs b0, b1
outputs b2
)" + std::string(step));
    EXPECT_NE(text.find("b2 temporary float32 [2] \"next\"\n"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("# \"cache\" State-0\nnest copy  axes i0<2\n  b1[i0] = b2[i0]\n")) << text;
  }
}

// The last read of a loop's round comes before the first write of the next, so that the whole loop counts.
TEST(BindStates, StepsOfALoopFollowOneAnotherInEachRound) {
  const std::string text = bound(R"(b0 input float32 [2] "x"
b1 input float32 [2] "cache"
b2 output float32 [2] "next"
b3 output float32 [4, 2] "y"
inputs b0, b1
outputs b2, b3
loop r < 4
nest exp  axes i<2
  b3[r, i] = exp(b1[i])
nest log  axes i<2
  b2[i] = log(b0[i])
end loop
nest neg  axes i<2
  b2[i] = -(b0[i])
)");
  EXPECT_NE(text.find("b2 temporary float32 [2] \"next\"\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("nest copy  axes i0<2\n  b1[i0] = b2[i0]\n")) << text;
}

TEST(BindStates, AProgramMayHaveOnlyOneOfAPair) {
  constexpr const char* before = R"(b0 input float32 [2] "cache"
b1 output float32 [2] "next"
inputs b0
outputs b1
nest exp  axes i<2
  b1[i] = exp(b0[i])
)";
  const std::string reads = bound(before, {{"cache", "other"}}), writes = bound(before, {{"other", "next"}});
  EXPECT_TRUE(
      reads.starts_with("b0 state float32 [2] \"cache\"\nb1 output float32 [2] \"next\"\ninputs \noutputs b1\n"
                        "state b0 \"cache\"\n"))
      << reads;
  EXPECT_TRUE(
      writes.starts_with("b0 input float32 [2] \"cache\"\nb1 state float32 [2] \"next\"\ninputs b0\noutputs \n"
                         "state b1 \"other\"\n"))
      << writes;
}

TEST(BindStates, TheTextIsReadBack) {
  constexpr const char* text = R"(b0 input float32 [2] "x"
b1 state float32 [2] "cache"
b2 output float32 [2] "y"
inputs b0
outputs b2
state b1 "cache"
nest add  axes i<2
  b2[i] = b1[i] + b0[i]
)";
  expect_text(to_string(parse_program(text)), text);
}

// Rules of sizes name inputs by their places.
TEST(BindStates, RulesOfSizesKeepTheirInputs) {
  Program program = parse_program(R"(b0 input float32 [N] "cache"
b1 input float32 [N] "x"
b2 output float32 [N] "next"
inputs b0, b1
outputs b2
nest exp  axes i<N
  b2[i] = exp(b1[i])
)");
  const Symbol n = *program.buffer(0).shape[0].as_symbol();
  program.size_rules.push_back({n, "2*n", {}, {{0, 0}, {1, 0}}});
  bind_states(program, {{"cache", "next"}});
  ASSERT_EQ(program.size_rules.front().places.size(), 1U);
  EXPECT_EQ(program.size_rules.front().places.front(), (SizeRule::Place{0, 0}));
}

}  // namespace
}  // namespace onnxc
