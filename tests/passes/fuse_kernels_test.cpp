#include "passes/program/fuse_kernels.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

// Joins any two kernels.
class JoiningTarget : public TestTarget {
 public:
  std::optional<KernelCall> pooled_convolution(const Program&, const KernelCall& convolution,
                                               const KernelCall& pool) const override {
    KernelCall call = convolution;
    call.output = pool.output;
    return call;
  }
};

Step kernel(BufferId from, BufferId to) {
  KernelCall call;
  call.spec = std::make_shared<TestKernel>(1);
  call.inputs = {from};
  call.output = to;
  return {call, {}};
}

// The steps of the program after the pass; a kernel makes b1 of b0 in front of it, and one b2 of b1 behind it.
std::string fused(std::string_view between) {
  Program program = parse_program(fmt::format(R"(b0 output float32 [4] "state"
b1 temporary float32 [4] "t"
b2 output float32 [4] "y"
b3 input float32 [4] "x"
inputs b3
outputs b0, b2
nest begin  axes i<4
  b0[i] = b3[i]
{})",
                                              between));
  program.steps.insert(program.steps.begin() + 1, kernel(0, 1));
  program.steps.push_back(kernel(1, 2));
  verify(program);
  fuse_kernels(program, JoiningTarget());
  verify(program);
  return steps_of(to_string(program));
}

TEST(FuseKernels, TwoOfWhichOneAloneReadsTheOtherAreOne) {
  EXPECT_EQ(fused(""), R"(nest begin  axes i<4
  b0[i] = b3[i]
kernel test_conv  b2 = b0
)");
}

TEST(FuseKernels, NotWhereWhatTheFirstReadsIsWrittenInBetween) {
  constexpr const char* next_state = R"(nest next_state  axes i<4
  b0[i] = exp(b3[i])
)";
  EXPECT_EQ(fused(next_state), fmt::format(R"(nest begin  axes i<4
  b0[i] = b3[i]
kernel test_conv  b1 = b0
{}kernel test_conv  b2 = b1
)",
                                           next_state));
}

// The second kernel's output is what the first reads.
TEST(FuseKernels, NotWhereTheOutputWouldBeAnInput) {
  Program program = parse_program(R"(b0 output float32 [4] "state"
b1 temporary float32 [4] "t"
b2 input float32 [4] "x"
inputs b2
outputs b0
nest begin  axes i<4
  b0[i] = b2[i]
)");
  program.steps.push_back(kernel(0, 1));
  program.steps.push_back(kernel(1, 0));
  const std::string before = to_string(program);
  fuse_kernels(program, JoiningTarget());
  EXPECT_EQ(to_string(program), before);
}

}  // namespace
}  // namespace onnxc
