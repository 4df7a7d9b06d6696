#include "passes/program/fuse_kernels.h"

#include <gtest/gtest.h>

#include "passes/lowering/text_target.h"
#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string fused(std::string_view before) {
  return after(before, [](Program& program) { fuse_kernels(program, text_target()); });
}

TEST(FuseKernels, AttentionWithItsScaleAndMask) {
  expect_text(steps_of(fused(R"(b0 input float32 [N, 6, 8] "q"
b1 input float32 [N, 8, 5] "k"
b2 input float32 [N, 5, 8] "v"
b3 input float32 [N, 6, 5] "mask"
b4 temporary float32 [N, 6, 5] "scores"
b5 temporary float32 [N, 6, 5] "weights"
b6 output float32 [N, 6, 8] "y"
inputs b0, b1, b2, b3
outputs b6
# "scores" MatMul-13
# "mask" Add-14
kernel matmul 8->5  b4 = b0, b1
  epilogue [n, i, j] acc0 * 0.5 + b3[n, i, j]
# "weights" Softmax-13
kernel softmax  b5 = b4
# "y" MatMul-13
kernel matmul 5->8  b6 = b5, b2
  epilogue [n, i, j] max(acc0, 0.0)
)")),
              R"(# "scores" MatMul-13
# "mask" Add-14
# "weights" Softmax-13
# "y" MatMul-13
kernel attention  b6 = b0, b1, b2
  inner epilogue [n<N, i<6, j<5] acc0 * 0.5 + b3[n, i, j]
  epilogue [n, i, j] max(acc0, 0.0)
)");
}

// The values are computed between the scores and the product: the kernel takes the place of the last one.
TEST(FuseKernels, AttentionBehindWhatItReads) {
  expect_text(steps_of(fused(R"(b0 input float32 [6, 8] "q"
b1 input float32 [8, 5] "k"
b2 input float32 [5, 8] "x"
b3 temporary float32 [6, 5] "scores"
b4 temporary float32 [6, 5] "weights"
b5 temporary float32 [5, 8] "v"
b6 output float32 [6, 8] "y"
inputs b0, b1, b2
outputs b6
kernel matmul  b3 = b0, b1
  epilogue [i, j] acc0
nest values  axes i<5, j<8
  b5[i, j] = exp(b2[i, j])
kernel softmax  b4 = b3
kernel matmul  b6 = b4, b5
  epilogue [i, j] acc0
)")),
              R"(nest values  axes i<5, j<8
  b5[i, j] = exp(b2[i, j])
kernel attention  b6 = b0, b1, b5
  inner epilogue [i<6, j<5] acc0
  epilogue [i, j] acc0
)");
}

TEST(FuseKernels, AConvolutionAndItsPool) {
  expect_text(steps_of(fused(R"(b0 input float32 [N, 3, 2*H] "x"
b1 constant float32 [160] packed "weights"
b2 constant float32 [16] "bias"
b3 temporary float32 [N, 16, 2*H] layout 0 1/8 2 1%8 "conv"
b4 temporary float32 [N, 16, H] layout 0 1/8 2 1%8 "pooled"
b5 output float32 [N, 16, H] "y"
inputs b0
outputs b5
# "conv" Conv-22
# "relu" Relu-14
kernel conv_stem 3x3x3 3->16  b3 = b0, b1
  epilogue [n, c, h] max(acc0 + b2[c], 0.0)
# "pool" MaxPool-22
kernel pool maximum 1x1x2 stride 1x1x2  b4 = b3
  epilogue [n, c, h] acc0
nest copy  axes n<N, c<16, h<H
  b5[n, c, h] = b4[n, c, h]
)")),
              R"(# "conv" Conv-22
# "relu" Relu-14
# "pool" MaxPool-22
kernel conv_stem 3x3x3 3->16 maximum  b4 = b0, b1
  inner epilogue [n<N, c<16, h<2*H] max(acc0 + b2[c], 0.0)
  epilogue [n, c, h] acc0
nest copy  axes n<N, c<16, h<H
  b5[n, c, h] = b4[n, c, h]
)");
}

// Both in a loop and under one condition.
TEST(FuseKernels, InARoundOfALoop) {
  expect_text(steps_of(fused(R"(dim flag 0..1
dim round ..
b0 input bool [1] "flag"
b1 input float32 [4, 16] "x"
b2 temporary float32 [4, 16] "state"
b3 temporary float32 [4, 16] "conv"
b4 temporary float32 [4, 16] "pooled"
b5 output float32 [4, 16] "y"
inputs b0, b1
outputs b5
bind flag = b0
nest begin  axes i<4, j<16
  b2[i, j] = b1[i, j]
loop round < N carries b2
when flag
kernel conv 3x3x3  b3 = b2
  epilogue [i, j] acc0
when flag
kernel pool maximum 3x3x3  b4 = b3
  epilogue [i, j] acc0
when flag
nest next_state  axes i<4, j<16
  b2[i, j] = b4[i, j]
end loop
nest end  axes i<4, j<16
  b5[i, j] = b2[i, j]
)")),
              R"(bind flag = b0
nest begin  axes i<4, j<16
  b2[i, j] = b1[i, j]
loop round < N carries b2
when flag
kernel conv 3x3x3 maximum  b4 = b2
  inner epilogue [i<4, j<16] acc0
  epilogue [i, j] acc0
when flag
nest next_state  axes i<4, j<16
  b2[i, j] = b4[i, j]
end loop
nest end  axes i<4, j<16
  b5[i, j] = b2[i, j]
)");
}

// Programs that must stay as they are.
class FuseKernelsLeaves : public testing::TestWithParam<const char*> {};

TEST_P(FuseKernelsLeaves, TheKernels) { EXPECT_EQ(fused(GetParam()), GetParam()); }

constexpr const char* an_output_between = R"(b0 input float32 [4, 16] "x"
b1 output float32 [4, 16] "conv"
b2 output float32 [4, 8] "y"
inputs b0
outputs b1, b2
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
kernel pool maximum 1x1x2  b2 = b1
  epilogue [i, j] acc0
)";

constexpr const char* another_reader = R"(b0 input float32 [4, 16] "x"
b1 temporary float32 [4, 16] "conv"
b2 output float32 [4, 8] "y"
b3 output float32 [4, 16] "z"
inputs b0
outputs b2, b3
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
kernel pool maximum 1x1x2  b2 = b1
  epilogue [i, j] acc0
nest negate  axes i<4, j<16
  b3[i, j] = -b1[i, j]
)";

constexpr const char* a_nest_between = R"(b0 input float32 [4, 16] "x"
b1 temporary float32 [4, 16] "conv"
b2 temporary float32 [4, 16] "reversed"
b3 output float32 [4, 8] "y"
inputs b0
outputs b3
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
nest reverse  axes i<4, j<16
  b2[i, j] = b1[-i + 3, j]
kernel pool maximum 1x1x2  b3 = b2
  epilogue [i, j] acc0
)";

// The first reads the state that the second writes.
constexpr const char* an_output_that_is_an_input = R"(b0 output float32 [4, 16] "state"
b1 temporary float32 [4, 16] "t"
b2 input float32 [4, 16] "x"
inputs b2
outputs b0
nest begin  axes i<4, j<16
  b0[i, j] = b2[i, j]
kernel conv_winograd 3x3x3 8->8  b1 = b0
  epilogue [i, j] acc0
kernel pool maximum 2x2x2  b0 = b1
  epilogue [i, j] acc0
)";

constexpr const char* an_average = R"(b0 input float32 [4, 16] "x"
b1 temporary float32 [4, 16] "conv"
b2 output float32 [4, 8] "y"
inputs b0
outputs b2
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
kernel pool average_with_padding 1x1x2  b2 = b1
  epilogue [i, j] acc0
)";

constexpr const char* seen_under_another_shape = R"(b0 input float32 [4, 16] "x"
b1 temporary float32 [4, 16] "conv"
b2 temporary float32 [64] alias b1 "flat"
b3 output float32 [4, 8] "y"
b4 output float32 [64] "z"
inputs b0
outputs b3, b4
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
kernel pool maximum 1x1x2  b3 = b1
  epilogue [i, j] acc0
nest negate  axes i<64
  b4[i] = -b2[i]
)";

constexpr const char* pooled_after_the_loop = R"(dim round ..
b0 input float32 [4, 16] "x"
b1 temporary float32 [4, 16] "conv"
b2 output float32 [4, 8] "y"
inputs b0
outputs b2
loop round < 3
kernel conv 3x3x3  b1 = b0
  epilogue [i, j] acc0
end loop
kernel pool maximum 1x1x2  b2 = b1
  epilogue [i, j] acc0
)";

constexpr const char* under_another_condition = R"(dim flag 0..1
b0 input float32 [4, 16] "x"
b1 input bool [1] "flag"
b2 temporary float32 [4, 16] "conv"
b3 output float32 [4, 8] "y"
inputs b0, b1
outputs b3
bind flag = b1
kernel conv 3x3x3  b2 = b0
  epilogue [i, j] acc0
nest zero  axes i<4, j<8
  b3[i, j] = 0.0
when flag
kernel pool maximum 1x1x2  b3 = b2
  epilogue [i, j] acc0
)";

// The next state is there before the scores of this one are read.
constexpr const char* a_state_that_is_written_between = R"(dim round ..
b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "state"
b2 temporary float32 [4, 4] "scores"
b3 temporary float32 [4, 4] "weights"
b4 output float32 [4, 4] "y"
inputs b0
outputs b4
nest begin  axes i<4, j<4
  b1[i, j] = b0[i, j]
loop round < 2 carries b1
kernel matmul  b2 = b1, b0
  epilogue [i, j] acc0
nest next_state  axes i<4, j<4
  b1[i, j] = b1[i, j] * 0.5
kernel softmax  b3 = b2
kernel matmul  b4 = b3, b0
  epilogue [i, j] acc0
end loop
)";

// The product has the weights on its right.
constexpr const char* weights_on_the_right = R"(b0 input float32 [4, 4] "q"
b1 input float32 [4, 4] "k"
b2 temporary float32 [4, 4] "scores"
b3 temporary float32 [4, 4] "weights"
b4 output float32 [4, 4] "y"
inputs b0, b1
outputs b4
kernel matmul  b2 = b0, b1
  epilogue [i, j] acc0
kernel softmax  b3 = b2
kernel matmul  b4 = b1, b3
  epilogue [i, j] acc0
)";

INSTANTIATE_TEST_SUITE_P(Programs, FuseKernelsLeaves,
                         testing::Values(an_output_that_is_an_input, an_output_between, another_reader, a_nest_between,
                                         an_average, seen_under_another_shape, pooled_after_the_loop,
                                         under_another_condition, a_state_that_is_written_between,
                                         weights_on_the_right));

}  // namespace
}  // namespace onnxc
