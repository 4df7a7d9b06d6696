#include "passes/states/narrow_states.h"

#include <gtest/gtest.h>

#include "ir/program/parser.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string narrowed(std::string_view before) {
  return after(before, [](Program& program) { narrow_states({&program}); });
}

TEST(NarrowStates, AStateWhoseValuesAreOf16BitsIsStoredSo) {
  expect_text(narrowed(R"(b0 input bfloat16 [4] "x"
b1 state float32 [2] "cache"
b2 output bfloat16 [2] "y"
b3 temporary float32 [2] alias b1 "next"
inputs b0
outputs b2
state b1 "cache"
nest exp  axes i<2
  b2[i] = bfloat16(exp(float32(bfloat16(b1[i]))))
nest slice  axes i<2
  b3[i] = float32(b0[i + 2])
)"),
              R"(b0 input bfloat16 [4] "x"
b1 state bfloat16 [2] "cache"
b2 output bfloat16 [2] "y"
b3 temporary bfloat16 [2] alias b1 "next"
inputs b0
outputs b2
state b1 "cache"
nest exp  axes i<2
  b2[i] = bfloat16(exp(float32(b1[i])))
nest slice  axes i<2
  b3[i] = b0[i + 2]
)");
}

TEST(NarrowStates, ACacheThatGoesOnByAFrameIsMovedIn16Bits) {
  expect_text(narrowed(R"(b0 input float16 [1] "x"
b1 state float32 [2] "cache"
b2 output float16 [2] "y"
b3 temporary float32 [1] view b1 [0] "next"
b4 temporary float32 [1] view b1 [1] "next"
inputs b0
outputs b2
state b1 "cache"
nest copy  axes i<2
  b2[i] = float16(b1[i])
nest older  axes i<1
  b3[i] = b1[i + 1]
nest newer  axes i<1
  b4[i] = float32(b0[i])
)"),
              R"(b0 input float16 [1] "x"
b1 state float16 [2] "cache"
b2 output float16 [2] "y"
b3 temporary float16 [1] view b1 [0] "next"
b4 temporary float16 [1] view b1 [1] "next"
inputs b0
outputs b2
state b1 "cache"
nest copy  axes i<2
  b2[i] = b1[i]
nest older  axes i<1
  b3[i] = b1[i + 1]
nest newer  axes i<1
  b4[i] = b0[i]
)");
}

// The state's text in a program that stores `stored` of x, and gives `read` of the state.
std::string state_with(std::string_view stored, std::string_view read, std::string_view type_of_y) {
  const std::string text = narrowed(fmt::format(R"(b0 input bfloat16 [2] "x"
b1 state float32 [2] "cache"
b2 output {} [2] "y"
b3 temporary float32 [2] alias b1 "next"
inputs b0
outputs b2
state b1 "cache"
nest read  axes i<2
  b2[i] = {}
nest store  axes i<2
  b3[i] = {}
)",
                                                type_of_y, read, stored));
  return text.substr(text.find("b1"), text.find("\n", text.find("b1")) - text.find("b1"));
}

TEST(NarrowStates, AStateWithOtherValuesKeepsFloat32) {
  EXPECT_EQ(state_with("float32(b0[i])", "bfloat16(b1[i])", "bfloat16"), "b1 state bfloat16 [2] \"cache\"");
  const std::string kept = "b1 state float32 [2] \"cache\"";
  EXPECT_EQ(state_with("float32(b0[i])", "b1[i]", "float32"), kept) << "the caller sees its float32";
  EXPECT_EQ(state_with("float32(b0[i])", "exp(b1[i])", "float32"), kept) << "a computation reads its float32";
  EXPECT_EQ(state_with("exp(float32(b0[i]))", "bfloat16(b1[i])", "bfloat16"), kept) << "what is stored is float32";
  EXPECT_EQ(state_with("float32(b0[i])", "float16(b1[i])", "float16"), kept) << "two types of 16 bits";
}

TEST(NarrowStates, AllProgramsThatShareAStateMustAllowIt) {
  const auto program = [](std::string_view read, std::string_view type) {
    return parse_program(fmt::format(R"(b0 state float32 [2] "cache"
b1 output {} [2] "y"
inputs
outputs b1
state b0 "cache"
nest read  axes i<2
  b1[i] = {}
)",
                                     type, read));
  };
  Program rounds = program("bfloat16(b0[i])", "bfloat16"), reads = program("b0[i]", "float32");
  narrow_states({&rounds, &reads});
  EXPECT_EQ(rounds.buffer(0).dtype, DType::float32);
  narrow_states({&rounds});
  EXPECT_EQ(rounds.buffer(0).dtype, DType::bfloat16);
}

}  // namespace
}  // namespace onnxc
