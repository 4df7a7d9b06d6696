#include "passes/lowering/guard_accesses.h"

#include <gtest/gtest.h>

#include "ir/interpreter/interpreter.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

const std::string buffers = R"(b0 input float32 [N] "x"
b1 input int64 [4] "index"
b2 output float32 [4] "y"
inputs b0, b1
outputs b2
)";

std::string guarded(const std::string& steps) {
  Program program = parse_program(buffers + steps);
  guard_accesses(program);
  verify(program);
  return steps_of(to_string(program));
}

TEST(GuardAccesses, ATestAroundWhatIsUndecided) {
  expect_text(guarded(R"(nest n  axes i<4
  let j0 = b1[i - 1]
  b2[i] = b0[j0]
)"),
              R"(nest n  axes i<4
  let j0 = select(0 <= index(i - 1), b1[i - 1], 0)
  b2[i] = select(0 <= index(j0) && index(j0) < index(N), b0[j0], 0.0)
)");
}

TEST(GuardAccesses, AConditionOfAStore) {
  expect_text(guarded(R"(nest n  axes i<4
  let j0 = b1[i]
  b2[j0] = 1.0
)"),
              R"(nest n  axes i<4
  let j0 = b1[i]
  b2[j0] = 1.0 if 0 <= index(j0) && index(j0) < 4
)");
}

TEST(GuardAccesses, WhatIsDecidedStays) {
  const std::string steps = R"(nest n  axes i<4  reduce k<N
  let j0 = b1[i]
  acc0: float32 = sum b0[k] * b0[max(0, min(N - 1, j0))]
  b2[i] = acc0
)";
  EXPECT_EQ(guarded(steps), steps);
}

TEST(GuardAccesses, OutsideIsZero) {
  Program program = parse_program(buffers + "nest n  axes i<4\n  let j0 = b1[i]\n  b2[i] = b0[j0]\n");
  const Symbol n = *program.buffer(0).shape[0].as_symbol();
  guard_accesses(program);
  const std::vector<Tensor> inputs{Tensor::of<float>(DType::float32, {2}, {5, 7}),
                                   Tensor::of<int64_t>(DType::int64, {4}, {1, 2, -1, 0})};
  const Tensor y = interpret(program, {{n, 2}}, inputs)[0];
  EXPECT_EQ(std::vector<float>(y.values<float>().begin(), y.values<float>().end()), (std::vector<float>{7, 0, 0, 5}));
}

}  // namespace
}  // namespace onnxc
