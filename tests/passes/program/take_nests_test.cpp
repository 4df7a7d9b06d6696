#include "passes/program/take_nests.h"

#include <gtest/gtest.h>

#include "ir/program/text_kernel.h"
#include "passes/lowering/text_target.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

std::optional<KernelCall> negation(const Program& program, const LoopNest& nest) {
  if (nest.name != "negate") return std::nullopt;
  const Scalar& value = nest.stores.front().value;
  KernelCall call;
  visit(value, [&](const ScalarNode& node) {
    if (node.op == ScalarOp::load) call.inputs = {node.buffer};
  });
  call.output = nest.stores.front().buffer;
  EXPECT_EQ(program.buffer(call.output).dtype, value.dtype());
  call.spec = std::make_shared<TextKernel>("negation", KernelOperands{{{}}, {}});
  return call;
}

// It has a kernel for nests that are called negate.
Target negating_target() {
  Target target = text_target();
  target.nests = {{"negation", negation}};
  return target;
}

constexpr const char* before = R"(b0 input float32 [N, 4] "x"
b1 input bool [1] "c"
b2 temporary float32 [N, 4] "t"
b3 output float32 [N, 4] "y"
b4 output float32 [N, 4] "z"
inputs b0, b1
outputs b3, b4
bind c_0 = b1
# "first" Neg-13
nest negate  axes i<N, j<4
  b2[i, j] = -b0[i, j]
when c_0
# "other" Abs-13
nest absolute  axes i<N, j<4
  b3[i, j] = abs(b2[i, j])
when c_0
# "second" Neg-13
# "third" Identity-19
nest negate  axes i<N, j<4
  b4[i, j] = -b2[i, j]
)";

TEST(TakeNests, NestsOfWhichTheTargetHasAKernelBecomeItsCalls) {
  expect_text(after(before, [](Program& program) { take_nests(program, negating_target()); }),
              R"(b0 input float32 [N, 4] "x"
b1 input bool [1] "c"
b2 temporary float32 [N, 4] "t"
b3 output float32 [N, 4] "y"
b4 output float32 [N, 4] "z"
inputs b0, b1
outputs b3, b4
bind c_0 = b1
# "first" Neg-13
kernel negation  b2 = b0
when c_0
# "other" Abs-13
nest absolute  axes i<N, j<4
  b3[i, j] = abs(b2[i, j])
when c_0
# "second" Neg-13
# "third" Identity-19
kernel negation  b4 = b2
)");
}

TEST(TakeNests, ATargetWithoutSuchKernelsKeepsThem) {
  EXPECT_EQ(after(before, [](Program& program) { take_nests(program, text_target()); }), before);
}

}  // namespace
}  // namespace onnxc
