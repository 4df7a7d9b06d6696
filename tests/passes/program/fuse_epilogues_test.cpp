#include "passes/program/fuse_epilogues.h"

#include <gtest/gtest.h>

#include "passes/program_text.h"
#include "passes/test_target.h"

namespace onnxc {
namespace {

// The program with a kernel that computes b1 from b0: in front, or behind the first step where that writes b0.
Program with_kernel(std::string_view text) {
  Program program = parse_program(text);
  KernelCall call;
  call.spec = std::make_shared<TestKernel>(1);
  call.inputs = {0};
  call.output = 1;
  for (const Expr& extent : program.buffer(1).shape) {
    const std::string axis = fmt::format("i{}", call.epilogue.axes.size());
    call.epilogue.axes.push_back({Symbol::axis(axis, extent), extent, AxisKind::parallel});
  }
  call.epilogue.value = scalar::accumulator(DType::float32, 0);
  const bool is_behind = program.buffer(0).kind != BufferKind::input;  // what it reads must be written
  program.steps.insert(program.steps.begin() + (is_behind ? 1 : 0), Step{call, {{"conv", "Conv", "", 22}}});
  verify(program);
  return program;
}

std::string fused(std::string_view before) {
  Program program = with_kernel(before);
  fuse_epilogues(program, TestTarget());
  verify(program);
  return steps_of(to_string(program));
}

TEST(FuseEpilogues, TheKernelTakesOneNestAfterAnother) {
  EXPECT_EQ(fused(R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 constant float32 [4] "bias"
b3 input float32 [N, 4] "skip"
b4 temporary float32 [N, 4] "sum"
b5 output float32 [N, 4] "y"
inputs b0, b3
outputs b5
# "add" Add-14
nest add  axes i<N, j<4
  b4[i, j] = b1[i, j] + b2[j]
# "relu" Relu-14
nest relu  axes k<N, l<4
  b5[k, l] = max(b4[k, l] + b3[k, l], 0.0)
)"),
            R"(# "conv" Conv-22
# "add" Add-14
# "relu" Relu-14
kernel test_conv  b5 = b0
  epilogue [k, l] max(acc0 + b2[l] + b3[k, l], 0.0)
)");
}

// What the epilogue reads may be computed after the kernel's place: the kernel moves to the nest's.
TEST(FuseEpilogues, TheKernelMovesBehindWhatItReads) {
  EXPECT_EQ(fused(R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 temporary float32 [N, 4] "gate"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
nest gate  axes i<N, j<4
  b2[i, j] = exp(b0[i, j])
nest mul  axes i<N, j<4
  b3[i, j] = b1[i, j] * b2[i, j]
)"),
            R"(nest gate  axes i<N, j<4
  b2[i, j] = exp(b0[i, j])
# "conv" Conv-22
kernel test_conv  b3 = b0
  epilogue [i, j] acc0 * b2[i, j]
)");
}

// What the kernel must leave: the program before the pass is the program after it.
class FuseEpiloguesLeaves : public testing::TestWithParam<const char*> {};

TEST_P(FuseEpiloguesLeaves, TheNest) { EXPECT_EQ(fused(GetParam()), steps_of(to_string(with_kernel(GetParam())))); }

constexpr const char* two_readers = R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 output float32 [N, 4] "y"
b3 output float32 [N, 4] "z"
inputs b0
outputs b2, b3
nest relu  axes i<N, j<4
  b2[i, j] = max(b1[i, j], 0.0)
nest negate  axes i<N, j<4
  b3[i, j] = -b1[i, j]
)";

constexpr const char* reads_a_neighbour = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
inputs b0
outputs b2
nest difference  axes i<5, j<4
  b2[i, j] = b1[i, j] - b1[4 - i, j]
)";

constexpr const char* covers_a_part = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [3, 4] "y"
inputs b0
outputs b2
nest slice  axes i<3, j<4
  b2[i, j] = b1[i, j]
)";

constexpr const char* a_reduction = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5] "y"
inputs b0
outputs b2
nest sum  axes i<5  reduce k<4
  acc0: float32 = sum b1[i, k]
  b2[i] = acc0
)";

constexpr const char* seen_under_another_shape = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 temporary float32 [20] alias b1 "flat"
b3 output float32 [20] "y"
b4 output float32 [5, 4] "z"
inputs b0
outputs b3, b4
nest relu  axes i<5, j<4
  b4[i, j] = max(b1[i, j], 0.0)
nest negate  axes i<20
  b3[i] = -b2[i]
)";

constexpr const char* the_target_refuses = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] layout 0 1/4 1%4 "conv"
b2 output float32 [5, 4] "y"
inputs b0
outputs b2
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

// The kernel reads b0, which the nest writes.
constexpr const char* stores_what_the_kernel_reads = R"(b0 temporary float32 [5, 4] "state"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
b3 input float32 [5, 4] "x"
inputs b3
outputs b2
nest begin  axes i<5, j<4
  b0[i, j] = b3[i, j]
nest next_state  axes i<5, j<4
  b0[i, j] = b1[i, j]
nest end  axes i<5, j<4
  b2[i, j] = b0[i, j]
)";

// Or what is written between the two.
constexpr const char* reads_what_is_written_in_between = R"(b0 temporary float32 [5, 4] "state"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
b3 input float32 [5, 4] "x"
inputs b3
outputs b2
nest begin  axes i<5, j<4
  b0[i, j] = b3[i, j]
nest next_state  axes i<5, j<4
  b0[i, j] = exp(b3[i, j])
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], b0[i, j])
)";

// Under another name.
constexpr const char* stores_it_under_another_name = R"(b0 temporary float32 [5, 4] "state"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
b3 input float32 [5, 4] "x"
b4 temporary float32 [5, 4] view b0 [0, 0] "state"
inputs b3
outputs b2
nest begin  axes i<5, j<4
  b0[i, j] = b3[i, j]
nest next_state  axes i<5, j<4
  b4[i, j] = b1[i, j]
nest end  axes i<5, j<4
  b2[i, j] = b0[i, j]
)";

constexpr const char* written_twice = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
inputs b0
outputs b2
nest first  axes i<4
  b1[0, i] = 0.0
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

constexpr const char* in_another_loop = R"(dim round ..
b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "y"
inputs b0
outputs b2
loop round < 3
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], 0.0)
end loop
)";

INSTANTIATE_TEST_SUITE_P(Programs, FuseEpiloguesLeaves,
                         testing::Values(two_readers, reads_a_neighbour, covers_a_part, a_reduction,
                                         seen_under_another_shape, the_target_refuses, stores_what_the_kernel_reads,
                                         reads_what_is_written_in_between, stores_it_under_another_name, written_twice,
                                         in_another_loop));

// An element that the kernel stores may be what it adds: a state that a round adds to.
TEST(FuseEpilogues, TheEpilogueReadsTheElementThatItStores) {
  EXPECT_EQ(fused(R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "sum"
inputs b0
outputs b2
nest begin  axes i<5, j<4
  b2[i, j] = 0.0
nest add  axes i<5, j<4
  b2[i, j] = b1[i, j] + b2[i, j]
)"),
            R"(nest begin  axes i<5, j<4
  b2[i, j] = 0.0
# "conv" Conv-22
kernel test_conv  b2 = b0
  epilogue [i, j] acc0 + b2[i, j]
)");
}

}  // namespace
}  // namespace onnxc
