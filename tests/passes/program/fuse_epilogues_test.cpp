#include "passes/program/fuse_epilogues.h"

#include <gtest/gtest.h>

#include "passes/lowering/text_target.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string fused(std::string_view before) {
  return after(before, [](Program& program) { fuse_epilogues(program, text_target()); });
}

TEST(FuseEpilogues, TheKernelTakesOneNestAfterAnother) {
  expect_text(steps_of(fused(R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 constant float32 [4] "bias"
b3 input float32 [N, 4] "skip"
b4 temporary float32 [N, 4] "sum"
b5 output float32 [N, 4] "y"
inputs b0, b3
outputs b5
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
# "add" Add-14
nest add  axes i<N, j<4
  b4[i, j] = b1[i, j] + b2[j]
# "relu" Relu-14
nest relu  axes k<N, l<4
  b5[k, l] = max(b4[k, l] + b3[k, l], 0.0)
)")),
              R"(# "conv" Conv-22
# "add" Add-14
# "relu" Relu-14
kernel test_conv  b5 = b0
  epilogue [k, l] max(acc0 + b2[l] + b3[k, l], 0.0)
)");
}

// The epilogue's operands may be computed after the kernel's place: the kernel moves to the nest's.
TEST(FuseEpilogues, TheKernelMovesBehindWhatItReads) {
  expect_text(steps_of(fused(R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 temporary float32 [N, 4] "gate"
b3 output float32 [N, 4] "y"
inputs b0
outputs b3
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest gate  axes i<N, j<4
  b2[i, j] = exp(b0[i, j])
nest mul  axes i<N, j<4
  b3[i, j] = b1[i, j] * b2[i, j]
)")),
              R"(nest gate  axes i<N, j<4
  b2[i, j] = exp(b0[i, j])
# "conv" Conv-22
kernel test_conv  b3 = b0
  epilogue [i, j] acc0 * b2[i, j]
)");
}

// The parts of a Concat: a kernel writes to the nest's destination.
TEST(FuseEpilogues, TheNestMayStoreIntoAView) {
  expect_text(fused(R"(b0 input float32 [N, 8] "x"
b1 temporary float32 [N, 8] "conv"
b2 output float32 [N, 12] "joined"
b3 temporary float32 [N, 8] view b2 [0, 4] "joined"
b4 temporary float32 [N, 4] view b2 [0, 0] "joined"
inputs b0
outputs b2
# "conv" Conv-22
kernel conv 1x1x1  b1 = b0
  epilogue [i, j] acc0
nest concat  axes i<N, j<4
  b4[i, j] = b0[i, j]
nest concat  axes i<N, j<8
  b3[i, j] = b1[i, j]
)"),
              R"(b0 input float32 [N, 8] "x"
b1 temporary float32 [N, 8] "conv"
b2 output float32 [N, 12] "joined"
b3 temporary float32 [N, 8] view b2 [0, 4] "joined"
b4 temporary float32 [N, 4] view b2 [0, 0] "joined"
inputs b0
outputs b2
nest concat  axes i<N, j<4
  b4[i, j] = b0[i, j]
# "conv" Conv-22
kernel conv 1x1x1  b3 = b0
  epilogue [i, j] acc0
)");
}

// Both are in the loop; the state that the kernel reads is written after them.
TEST(FuseEpilogues, InALoop) {
  expect_text(steps_of(fused(R"(dim round ..
b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "state"
b2 temporary float32 [4, 4] "product"
b3 temporary float32 [4, 4] "next"
b4 output float32 [4, 4] "y"
inputs b0
outputs b4
nest begin  axes i<4, j<4
  b1[i, j] = b0[i, j]
loop round < N carries b1
kernel matmul 4->4  b2 = b1, b0
  epilogue [i, j] acc0
nest relu  axes i<4, j<4
  b3[i, j] = max(b2[i, j], 0.0)
nest next_state  axes i<4, j<4
  b1[i, j] = b3[-i + 3, j]
end loop
nest end  axes i<4, j<4
  b4[i, j] = b1[i, j]
)")),
              R"(nest begin  axes i<4, j<4
  b1[i, j] = b0[i, j]
loop round < N carries b1
kernel matmul 4->4  b3 = b1, b0
  epilogue [i, j] max(acc0, 0.0)
nest next_state  axes i<4, j<4
  b1[i, j] = b3[-i + 3, j]
end loop
nest end  axes i<4, j<4
  b4[i, j] = b1[i, j]
)");
}

// Programs that the kernel must leave: the program before the pass is the program after it.
class FuseEpiloguesLeaves : public testing::TestWithParam<const char*> {};

TEST_P(FuseEpiloguesLeaves, TheNest) { EXPECT_EQ(fused(GetParam()), GetParam()); }

constexpr const char* two_readers = R"(b0 input float32 [N, 4] "x"
b1 temporary float32 [N, 4] "conv"
b2 output float32 [N, 4] "y"
b3 output float32 [N, 4] "z"
inputs b0
outputs b2, b3
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest difference  axes i<5, j<4
  b2[i, j] = b1[i, j] - b1[-i + 4, j]
)";

constexpr const char* covers_a_part = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [3, 4] "y"
inputs b0
outputs b2
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest slice  axes i<3, j<4
  b2[i, j] = b1[i, j]
)";

constexpr const char* a_reduction = R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5] "y"
inputs b0
outputs b2
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
# "conv" Conv-22
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

constexpr const char* after_the_loop = R"(dim round ..
b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "product"
b2 output float32 [4, 4] "y"
inputs b0
outputs b2
loop round < 3
kernel matmul 4->4  b1 = b0, b0
  epilogue [i, j] acc0
end loop
nest relu  axes i<4, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

constexpr const char* a_kernel_that_takes_no_epilogue = R"(b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "weights"
b2 output float32 [4, 4] "y"
inputs b0
outputs b2
kernel softmax  b1 = b0
nest relu  axes i<4, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

constexpr const char* a_kernel_that_takes_no_views = R"(b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "rows"
b2 output float32 [4, 8] "joined"
b3 temporary float32 [4, 4] view b2 [0, 0] "joined"
b4 temporary float32 [4, 4] view b2 [0, 4] "joined"
inputs b0
outputs b2
kernel rows  b1 = b0 without views
  epilogue [i, j] acc0
nest concat  axes i<4, j<4
  b3[i, j] = b1[i, j]
nest concat  axes i<4, j<4
  b4[i, j] = b0[i, j]
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
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
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
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest first  axes i<4
  b1[0, i] = 0.0
nest relu  axes i<5, j<4
  b2[i, j] = max(b1[i, j], 0.0)
)";

INSTANTIATE_TEST_SUITE_P(Programs, FuseEpiloguesLeaves,
                         testing::Values(two_readers, reads_a_neighbour, covers_a_part, a_reduction,
                                         seen_under_another_shape, the_target_refuses, after_the_loop,
                                         stores_what_the_kernel_reads, reads_what_is_written_in_between,
                                         stores_it_under_another_name, written_twice, a_kernel_that_takes_no_epilogue,
                                         a_kernel_that_takes_no_views));

// An element that the kernel stores may be what it adds: a state that a round adds to.
TEST(FuseEpilogues, TheEpilogueReadsTheElementThatItStores) {
  expect_text(steps_of(fused(R"(b0 input float32 [5, 4] "x"
b1 temporary float32 [5, 4] "conv"
b2 output float32 [5, 4] "sum"
inputs b0
outputs b2
kernel test_conv  b1 = b0
  epilogue [i, j] acc0
nest begin  axes i<5, j<4
  b2[i, j] = 0.0
nest add  axes i<5, j<4
  b2[i, j] = b1[i, j] + b2[i, j]
)")),
              R"(nest begin  axes i<5, j<4
  b2[i, j] = 0.0
kernel test_conv  b2 = b0
  epilogue [i, j] acc0 + b2[i, j]
)");
}

}  // namespace
}  // namespace onnxc
