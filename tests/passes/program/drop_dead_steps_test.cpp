#include "passes/program/drop_dead_steps.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string without_dead(std::string_view before) { return steps_of(after(before, drop_dead_steps)); }

// A tensor of sizes, in two parts, and what is computed from it.
TEST(DropDeadSteps, DropsWhatNobodyReads) {
  expect_text(without_dead(R"(b0 input float32 [H, 3] "x"
b1 temporary int64 [2] "dims"
b2 temporary int64 [1] view b1 [0] "dims"
b3 temporary int64 [1] view b1 [1] "dims"
b4 temporary int64 [2] "twice"
b5 output float32 [H, 3] "y"
inputs b0
outputs b5
nest Shape  axes i<1
  b2[i] = index(H)
nest Shape  axes i<1
  b3[i] = index(3)
nest Add  axes i<2
  b4[i] = b1[i] + b1[i]
nest Neg  axes i<H, j<3
  b5[i, j] = -b0[i, j]
)"),
              R"(nest Neg  axes i<H, j<3
  b5[i, j] = -b0[i, j]
)");
}

// Both parts of what an output reads under another name.
TEST(DropDeadSteps, KeepsWhatIsReadThroughViewsAndAliases) {
  constexpr const char* program = R"(b0 input float32 [3] "x"
b1 temporary float32 [6] "t"
b2 temporary float32 [3] view b1 [0] "first"
b3 temporary float32 [3] view b1 [3] "second"
b4 temporary float32 [2, 3] alias b1 "again"
b5 output float32 [2, 3] "y"
inputs b0
outputs b5
nest Neg  axes i<3
  b2[i] = -b0[i]
nest Exp  axes i<3
  b3[i] = exp(b0[i])
nest Abs  axes i<2, j<3
  b5[i, j] = abs(b4[i, j])
)";
  EXPECT_EQ(after(program, drop_dead_steps), to_string(parse_program(program)));
}

// A state that only the next round reads, and what a size comes from.
TEST(DropDeadSteps, KeepsStatesAndSizes) {
  constexpr const char* program = R"(dim n ..
dim r ..
b0 input float32 [3] "x"
b1 temporary float32 [3] "state"
b2 temporary float32 [3] "next"
b3 temporary int64 [] "count"
b4 output float32 [3] "y"
inputs b0
outputs b4
nest Size
  b3[] = index(2)
bind n = b3
nest Identity  axes i<3
  b1[i] = b0[i]
loop r < n carries b1
nest Exp  axes i<3
  b2[i] = exp(b1[i])
nest Identity  axes i<3
  b1[i] = b2[i]
end loop
nest Abs  axes i<3
  b4[i] = abs(b1[i])
)";
  EXPECT_EQ(after(program, drop_dead_steps), to_string(parse_program(program)));
}

}  // namespace
}  // namespace onnxc
