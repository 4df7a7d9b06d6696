#include "passes/program/fuse_nests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "passes/program_text.h"

namespace onnxc {
namespace {

std::string fused(std::string_view before) { return steps_of(after(before, fuse_nests)); }

TEST(FuseNests, ComputesAChainWhereItIsRead) {
  expect_text(fused(R"(b0 input float32 [N, 3] "x"
b1 constant float32 [N] "w"
b2 temporary float32 [N, 3] "t"
b3 output float32 [3, N] "y"
inputs b0
outputs b3
# "exp1" Exp-13
nest Exp  axes i<N, j<3
  b2[i, j] = exp(b0[i, j])
# "mul1" Mul-14
nest Mul  axes k<3, l<N
  b3[k, l] = b2[l, k] * b1[l]
)"),
              R"(# "exp1" Exp-13
# "mul1" Mul-14
nest Mul  axes k<3, l<N
  b3[k, l] = exp(b0[l, k]) * b1[l]
)");
}

// x, and nests of e^x, each of the one before; more nests than one expression may have operators.
std::string chain(int length) {
  std::string buffers = "b0 input float32 [N, 3] \"x\"\n", steps;
  for (int i = 1; i <= length; ++i) {
    buffers += fmt::format("b{} {} float32 [N, 3] \"t{}\"\n", i, i == length ? "output" : "temporary", i);
    steps += fmt::format("nest Exp  axes i<N, j<3\n  b{}[i, j] = exp(b{}[i, j])\n", i, i - 1);
  }
  return buffers + fmt::format("inputs b0\noutputs b{}\n", length) + steps;
}

// A chain takes time with its length, since values are not copied when they move into the next nest: after all the
// others the first one's is the node that it was.
TEST(FuseNests, CopiesNoValueOfAChain) {
  constexpr int length = 300;
  Program program = parse_program(chain(length));
  const auto value_of = [](const Step& step) { return std::get<LoopNest>(step.work).stores.front().value; };
  std::vector<Scalar> kept;  // so that no node made later has the address of one that was there
  std::set<const ScalarNode*> before;
  for (const Step& step : program.steps) before.insert(&*kept.emplace_back(value_of(step)));
  fuse_nests(program);
  verify(program);
  ASSERT_EQ(program.steps.size(), 2);
  for (const Step& step : program.steps) {
    size_t same = 0;
    visit(value_of(step), [&](const ScalarNode& node) { same += before.count(&node); });
    EXPECT_EQ(same, 1);
  }
}

TEST(FuseNests, ComputesWhatTwoReadersReadOnceTheyHaveBecomeOne) {
  expect_text(fused(R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 temporary float32 [4] "e"
b3 output float32 [4] "y"
inputs b0
outputs b3
nest double  axes i<4
  b1[i] = b0[i] * 2.0
nest Exp  axes i<4
  b2[i] = exp(b1[i])
nest Mul  axes i<4
  b3[i] = b1[i] * b2[i]
)"),
              R"(nest Mul  axes i<4
  t0 = b0[i] * 2.0
  b3[i] = t0 * exp(t0)
)");
}

TEST(FuseNests, ComputesWhatAReductionReadsOnce) {
  expect_text(fused(R"(b0 input float32 [4, D] "x"
b1 temporary float32 [4, D] "t"
b2 output float32 [4] "y"
inputs b0
outputs b2
nest square  axes i<4, j<D
  b1[i, j] = b0[i, j] * b0[i, j]
nest sum  axes i<4  reduce k<D
  acc0: float32 = sum b1[i, k]
  b2[i] = acc0
)"),
              R"(nest sum  axes i<4  reduce k<D
  acc0: float32 = sum b0[i, k] * b0[i, k]
  b2[i] = acc0
)");
}

// Results do not change by a bit: what a float16 temporary lost stays lost.
TEST(FuseNests, KeepsTheRoundingOfTheTemporary) {
  expect_text(fused(R"(b0 input float32 [4] "x"
b1 temporary float16 [4] "t"
b2 output float32 [4] "y"
inputs b0
outputs b2
nest narrow  axes i<4
  b1[i] = float16(b0[i] * 3.0)
nest widen  axes i<4
  b2[i] = float32(b1[i]) - b0[i]
)"),
              R"(nest widen  axes i<4
  b2[i] = float32(float16(b0[i] * 3.0)) - b0[i]
)");
}

TEST(FuseNests, RepeatsAConstantForEveryReader) {
  expect_text(fused(R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "zeros"
b2 output float32 [4] "y"
b3 output float32 [4] "z"
inputs b0
outputs b2, b3
nest fill  axes i<4
  b1[i] = 0.0
nest maximum  axes i<4
  b2[i] = max(b0[i], b1[i])
nest minimum  axes i<4
  b3[i] = min(b0[i], b1[i])
)"),
              R"(nest maximum  axes i<4
  b2[i] = max(b0[i], 0.0)
nest minimum  axes i<4
  b3[i] = min(b0[i], 0.0)
)");
}

TEST(FuseNests, GivesTheReaderTheLets) {
  expect_text(fused(R"(b0 input float32 [9] "x"
b1 input int64 [4] "index"
b2 temporary float32 [4] "picked"
b3 output float32 [4] "y"
inputs b0, b1
outputs b3
nest gather  axes i<4
  let j0 = b1[i]
  b2[i] = b0[max(0, min(j0, 8))]
nest negate  axes i<4
  b3[i] = -b2[i]
)"),
              R"(nest negate  axes i<4
  let j0 = b1[i]
  b3[i] = -b0[max(0, min(j0, 8))]
)");
}

// The let would read b1[-1] in the padding, for which the select takes 0. Elements that the select leaves within may be
// read.
TEST(FuseNests, KeepsLetsFromReadingBesideTheirBuffers) {
  const std::string gather = R"(b0 input float32 [9] "x"
b1 input int64 [4] "index"
b2 temporary float32 [4] "picked"
b3 output float32 [{}] "y"
inputs b0, b1
outputs b3
nest gather  axes i<4
  let j0 = b1[i]
  b2[i] = b0[max(0, min(j0, 8))]
)";
  const std::string padded = fmt::format(fmt::runtime(gather), 5) + R"(nest pad  axes i<5
  b3[i] = select(index(1) <= index(i), b2[i - 1], 0.0)
)";
  const std::string chosen = fmt::format(fmt::runtime(gather), 4) + R"(nest choose  axes i<4
  b3[i] = select(index(1) <= index(i), b2[i], 0.0)
)";
  EXPECT_THAT(fused(padded), testing::AllOf(testing::HasSubstr("nest gather"), testing::HasSubstr("nest pad")));
  EXPECT_THAT(fused(chosen), testing::Not(testing::HasSubstr("nest gather")));
}

// A branch's nests become part of the nest that takes the If's result, under its condition. For each of the heads
// again, and through shapes that differ in axes of extent 1.
TEST(FuseNests, ComputesALargeMaskOfSmallTensorsWhereItIsRead) {
  expect_text(fused(R"(b0 input float32 [3, 4, 300, 300] "scores"
b1 constant float32 [3, 1, 300] "regions"
b2 temporary float32 [3, 300, 300] "mask"
b3 temporary float32 [1, 3, 1, 300, 300] alias b2 "mask reshaped"
b4 temporary float32 [3, 1, 300, 300] "unsqueezed"
b5 output float32 [3, 4, 300, 300] "masked"
inputs b0
outputs b5
nest mask  axes w<3, i<300, j<300
  b2[w, i, j] = select(b1[w, 0, i] == b1[w, 0, j], 0.0, -100.0)
nest Unsqueeze  axes w<3, h<1, i<300, j<300
  b4[w, h, i, j] = b3[0, w, h, i, j]
nest add  axes w<3, h<4, i<300, j<300
  b5[w, h, i, j] = b0[w, h, i, j] + b4[w, 0, i, j]
)"),
              R"(nest add  axes w<3, h<4, i<300, j<300
  b5[w, h, i, j] = b0[w, h, i, j] + select(b1[w, 0, i] == b1[w, 0, j], 0.0, -100.0)
)");
}

// The mask's parts keep sharing their values.
TEST(FuseNests, ComputesALargeMaskOnce) {
  expect_text(fused(R"(b0 input float32 [3, 4, 300, 300] "scores"
b1 constant float32 [3, 300, 1] "regions"
b2 constant float32 [3, 1, 300] "regions of keys"
b3 temporary float32 [3, 300, 300] "difference"
b4 temporary bool [3, 300, 300] "equal"
b5 temporary float32 [3, 300, 300] "mask"
b6 output float32 [3, 4, 300, 300] "masked"
inputs b0
outputs b6
nest Sub  axes w<3, i<300, j<300
  b3[w, i, j] = b1[w, i, 0] - b2[w, 0, j]
nest Equal  axes w<3, i<300, j<300
  b4[w, i, j] = b3[w, i, j] == 0.0
nest Where  axes w<3, i<300, j<300
  b5[w, i, j] = select(b4[w, i, j], 0.0, b3[w, i, j])
nest add  axes w<3, h<4, i<300, j<300
  b6[w, h, i, j] = b0[w, h, i, j] + b5[w, i, j]
)"),
              R"(nest add  axes w<3, h<4, i<300, j<300
  t0 = b1[w, i, 0] - b2[w, 0, j]
  b6[w, h, i, j] = b0[w, h, i, j] + select(t0 == 0.0, 0.0, t0)
)");
}

TEST(FuseNests, ComputesABranchWhereItIsTaken) {
  expect_text(fused(R"(dim c 0..1
b0 input bool [1] "c"
b1 input float32 [4] "x"
b2 temporary float32 [4] "a"
b3 output float32 [4] "y"
inputs b0, b1
outputs b3
bind c = b0
when c
nest exp  axes i<4
  b2[i] = exp(b1[i])
nest If  axes i<4
  b3[i] = b2[i] if index(c) == 1
nest If  axes i<4
  b3[i] = b1[i] if !(index(c) == 1)
)"),
              R"(bind c = b0
nest If  axes i<4
  b3[i] = exp(b1[i]) if index(c) == 1
nest If  axes i<4
  b3[i] = b1[i] if !(index(c) == 1)
)");
}

TEST(FuseNests, FusesWithinALoop) {
  expect_text(fused(R"(dim round ..
b0 input float32 [N, 4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [N, 4] "y"
inputs b0
outputs b2
loop round < N
nest exp  axes i<4
  b1[i] = exp(b0[round, i])
nest collect  axes i<4
  b2[round, i] = b1[i]
end loop
)"),
              R"(loop round < N
nest collect  axes i<4
  b2[round, i] = exp(b0[round, i])
end loop
)");
}

// A kernel between them that has nothing to do with either.
TEST(FuseNests, PastAKernel) {
  expect_text(steps_of(after(R"(b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "t"
b2 temporary float32 [4, 4] "product"
b3 output float32 [4, 4] "y"
inputs b0
outputs b3
nest exp  axes i<4, j<4
  b1[i, j] = exp(b0[i, j])
kernel matmul 4->4  b2 = b0, b0
  epilogue [i, j] acc0
nest add  axes i<4, j<4
  b3[i, j] = b1[i, j] + b2[i, j]
)",
                             fuse_nests)),
              R"(kernel matmul 4->4  b2 = b0, b0
  epilogue [i, j] acc0
nest add  axes i<4, j<4
  b3[i, j] = exp(b0[i, j]) + b2[i, j]
)");
}

// Programs that must stay as they are.
class FuseNestsLeaves : public testing::TestWithParam<const char*> {};

TEST_P(FuseNestsLeaves, Alone) { EXPECT_EQ(after(GetParam(), fuse_nests), GetParam()); }

constexpr const char* two_readers = R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [4] "y"
b3 output float32 [4] "z"
inputs b0
outputs b2, b3
nest exp  axes i<4
  b1[i] = exp(b0[i])
nest negate  axes i<4
  b2[i] = -b1[i]
nest double  axes i<4
  b3[i] = b1[i] + b1[i]
)";

constexpr const char* read_for_every_row = R"(b0 input float32 [4] "x"
b1 input float32 [3, 4] "m"
b2 temporary float32 [4] "t"
b3 output float32 [3, 4] "y"
inputs b0, b1
outputs b3
nest exp  axes i<4
  b2[i] = exp(b0[i])
nest add  axes j<3, i<4
  b3[j, i] = b1[j, i] + b2[i]
)";

// As large as what it is made of, or so small that a cache has it.
constexpr const char* a_large_operand = R"(b0 input float32 [4, 300, 300] "x"
b1 input float32 [300, 300] "m"
b2 temporary float32 [300, 300] "t"
b3 output float32 [4, 300, 300] "y"
inputs b0, b1
outputs b3
nest mask  axes i<300, j<300
  b2[i, j] = select(b1[i, j] == 0.0, 0.0, -100.0)
nest add  axes h<4, i<300, j<300
  b3[h, i, j] = b0[h, i, j] + b2[i, j]
)";

constexpr const char* a_small_mask = R"(b0 input float32 [4, 200, 200] "x"
b1 input float32 [200] "m"
b2 temporary float32 [200, 200] "t"
b3 output float32 [4, 200, 200] "y"
inputs b0, b1
outputs b3
nest mask  axes i<200, j<200
  b2[i, j] = select(b1[i] == b1[j], 0.0, -100.0)
nest add  axes h<4, i<200, j<200
  b3[h, i, j] = b0[h, i, j] + b2[i, j]
)";

// Another order of the elements than rows of the mask have.
constexpr const char* a_mask_in_another_shape = R"(b0 input float32 [4, 90000] "x"
b1 input float32 [300] "m"
b2 temporary float32 [300, 300] "t"
b3 temporary float32 [90000] alias b2 "flat"
b4 output float32 [4, 90000] "y"
inputs b0, b1
outputs b4
nest mask  axes i<300, j<300
  b2[i, j] = select(b1[i] == b1[j], 0.0, -100.0)
nest add  axes h<4, i<90000
  b4[h, i] = b0[h, i] + b3[i]
)";

constexpr const char* seen_under_another_shape = R"(b0 input float32 [2, 3] "x"
b1 temporary float32 [2, 3] "t"
b2 temporary float32 [6] alias b1 "flat"
b3 output float32 [6] "y"
inputs b0
outputs b3
nest exp  axes i<2, j<3
  b1[i, j] = exp(b0[i, j])
nest negate  axes k<6
  b3[k] = -b2[k]
)";

constexpr const char* input_is_overwritten = R"(b0 input float32 [4] "x"
b1 temporary float32 [4] "state"
b2 temporary float32 [4] "before"
b3 output float32 [4] "y"
inputs b0
outputs b3
nest copy  axes i<4
  b1[i] = b0[i] + 1.0
nest before  axes i<4
  b2[i] = -b1[i]
nest scatter  axes i<2
  b1[2*i] = 0.0
nest add  axes i<4
  b3[i] = b2[i] + b1[i]
)";

constexpr const char* a_reduction = R"(b0 input float32 [4, 5] "x"
b1 temporary float32 [4] "sum"
b2 output float32 [4] "y"
inputs b0
outputs b2
nest sum  axes i<4  reduce k<5
  acc0: float32 = sum b0[i, k]
  b1[i] = acc0
nest negate  axes i<4
  b2[i] = -b1[i]
)";

// Inside it would be computed in each round.
constexpr const char* computed_before_a_loop = R"(dim round ..
b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [N, 4] "y"
inputs b0
outputs b2
nest exp  axes i<4
  b1[i] = exp(b0[i])
loop round < N
nest collect  axes i<4
  b2[round, i] = b1[i]
end loop
)";

// A nest of a round stays in the loop.
constexpr const char* computed_in_a_loop = R"(dim round ..
b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 output float32 [4] "y"
inputs b0
outputs b2
loop round < 2
nest exp  axes i<4
  b1[i] = exp(b0[i])
end loop
nest negate  axes i<4
  b2[i] = -b1[i]
)";

// After the loop other numbers would be drawn.
constexpr const char* drawn_before_a_loop = R"(dim round ..
draws
b0 input float32 [4] "x"
b1 temporary float32 [4] "t"
b2 temporary float32 [4] "state"
b3 output float32 [4] "y"
inputs b0
outputs b3
nest noise  axes i<4
  b1[i] = b0[i] * float32(random_bits(uint64(index(i)), uint64(index(run_pass))))
nest begin  axes i<4
  b2[i] = b0[i]
loop round < 2 carries b2
nest exp  axes i<4
  b2[i] = exp(b2[i])
end loop
nest add  axes i<4
  b3[i] = b1[i] + b2[i]
)";

constexpr const char* read_by_a_kernel = R"(b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "t"
b2 output float32 [4, 4] "y"
inputs b0
outputs b2
nest exp  axes i<4, j<4
  b1[i, j] = exp(b0[i, j])
kernel matmul 4->4  b2 = b1, b0
  epilogue [i, j] acc0
)";

constexpr const char* read_by_an_epilogue = R"(b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "t"
b2 output float32 [4, 4] "y"
inputs b0
outputs b2
nest exp  axes i<4, j<4
  b1[i, j] = exp(b0[i, j])
kernel matmul 4->4  b2 = b0, b0
  epilogue [i, j] acc0 + b1[i, j]
)";

constexpr const char* a_kernel_overwrites_the_input = R"(dim round ..
b0 input float32 [4, 4] "x"
b1 temporary float32 [4, 4] "state"
b2 temporary float32 [4, 4] "t"
b3 output float32 [N, 4, 4] "y"
inputs b0
outputs b3
nest begin  axes i<4, j<4
  b1[i, j] = b0[i, j]
loop round < N carries b1
nest exp  axes i<4, j<4
  b2[i, j] = exp(b1[i, j])
kernel matmul 4->4  b1 = b0, b0
  epilogue [i, j] acc0
nest collect  axes i<4, j<4
  b3[round, i, j] = -b2[i, j]
end loop
)";

INSTANTIATE_TEST_SUITE_P(Programs, FuseNestsLeaves,
                         testing::Values(two_readers, read_for_every_row, a_large_operand, a_small_mask,
                                         a_mask_in_another_shape, seen_under_another_shape, input_is_overwritten,
                                         a_reduction, computed_before_a_loop, computed_in_a_loop, drawn_before_a_loop,
                                         read_by_a_kernel, read_by_an_epilogue, a_kernel_overwrites_the_input));

}  // namespace
}  // namespace onnxc
