#include "ir/program/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/interpreter/interpreter.h"
#include "support/diagnostics.h"

namespace onnxc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* concatenation = R"(dim N 1..8
b0 input float32 [N, 3, 2] "x"
b1 temporary float32 [N, 5, 2] layout 0 1/4 2 1%4 "whole"
b2 temporary float32 [N, 3, 2] layout 0 1/4 2 1%4 view b1 [0, 0, 0] "first"
b3 temporary float32 [N, 2, 2] layout 0 1/4 2 1%4 view b1 [0, 3, 0] "second\" \\ \012"
b4 constant float32 [2] = {1.5, -3} "bias"
b5 output float32 [N, 5, 2] "y"
b6 output float32 [2*N, 5] alias b5 "flat"
inputs b0
outputs b5
guard N >= 2 "node 'a' (Concat): why"
# "conv\0501" Conv-22
# "relu" com.example.Relu-1
nest first  axes i<N, j<3, k<2
  b2[i, j, k] = b0[i, j, k]
nest second  axes i<N, j<2, k<2
  b3[i, j, k] = b4[k]
nest copy  axes i<N, j<5, k<2
  b5[i, j, k] = b1[i, j, k]
)";

TEST(ProgramParser, PrintsWhatItRead) {
  Program program = parse_program(concatenation);
  verify(program);
  std::string text = to_string(program);
  EXPECT_EQ(to_string(parse_program(text)), text);
  // As it stands above, but that the printer escapes no parenthesis.
  std::string expected = concatenation;
  expected.replace(expected.find("\\050"), 4, "(");
  EXPECT_EQ(text, expected);
}

TEST(ProgramParser, WhatItReadRuns) {
  Program program = parse_program(concatenation);
  Symbol n = *program.buffer(0).shape[0].as_symbol();
  EXPECT_EQ(n.info().bounds, (Bounds{1, 8}));
  std::vector<Tensor> inputs = {Tensor::of<float>(DType::float32, {1, 3, 2}, {1, 2, 3, 4, 5, 6})};
  EXPECT_THAT(interpret(program, {{n, 1}}, inputs)[0].values<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 1.5, -3, 1.5, -3));
}

// Only the rule shows that the pooled axis has an element to clamp to.
constexpr const char* multiple_of_two = R"(dim D 2..64 = 2*n
b0 input float32 [D//2] "x"
b1 output float32 [D] "y"
inputs b0
outputs b1
nest nearest  axes i<D
  let j = int64(floor(float32(index(i)) * 0.5))
  b1[i] = b0[max(0, min(j, D//2 - 1))]
)";

TEST(ProgramParser, ReadsWhichRemainderADimLeaves) {
  Program program = parse_program(multiple_of_two);
  verify(program);
  EXPECT_EQ(to_string(program), multiple_of_two);
  const Symbol n = *program.buffer(0).shape[0].as_symbol();
  EXPECT_EQ(n.info().bounds, (Bounds{1, 32}));
  std::vector<Tensor> inputs = {Tensor::of<float>(DType::float32, {2}, {1, 2})};
  EXPECT_THAT(interpret(program, {{n, 2}}, inputs)[0].values<float>(), ElementsAre(1, 1, 2, 2));

  std::string with_rest = multiple_of_two;
  with_rest.replace(with_rest.find("64 = 2*n"), 8, "64 = 2*n + 1");
  EXPECT_EQ(to_string(parse_program(with_rest)), with_rest);
  with_rest.replace(with_rest.find("+ 1"), 3, "+ 2");
  EXPECT_THAT([&] { parse_program(with_rest); },
              ThrowsMessage<UserError>(HasSubstr("line 1: 2*n + 2: a remainder of a positive divisor is expected")));
  EXPECT_THAT([&] { parse_program("dim k 2.. = 2*n\nb0 input int64 [1] \"x\"\nbind k = b0\n"); },
              ThrowsMessage<UserError>(HasSubstr("line 3: 'k' is a dim with a rule, which no step binds")));
}

// y is laid out once the first element of k is known.
constexpr const char* run_time_size = R"(dim s ..
b0 input float32 [N] "x"
b1 input int32 [1] "k"
b2 output float32 [s] "y"
inputs b0, b1
outputs b2
guard N >= s "as many as x has"
bind s = b1
nest copy  axes i<s
  b2[i] = b0[i]
)";

TEST(ProgramParser, ASizeThatOnlyARunKnows) {
  Program program = parse_program(run_time_size);
  verify(program);
  EXPECT_EQ(to_string(program), run_time_size);
  Symbol n = *program.buffer(0).shape[0].as_symbol();
  for (int k : {2, 0, 3}) {
    std::vector<Tensor> inputs = {Tensor::of<float>(DType::float32, {3}, {1, 2, 3}),
                                  Tensor::of<int32_t>(DType::int32, {1}, {k})};
    Tensor y = interpret(program, {{n, 3}}, inputs)[0];
    EXPECT_EQ(y.dims(), std::vector<int64_t>{k});
    for (int i = 0; i < k; ++i) EXPECT_EQ(y.values<float>()[static_cast<size_t>(i)], static_cast<float>(i + 1));
  }
}

TEST(ProgramParser, ASizeIsNotUsedBeforeItIsBound) {
  Program program = parse_program(run_time_size);
  std::swap(program.steps[0], program.steps[1]);
  EXPECT_THAT([&] { verify(program); }, ThrowsMessage<InternalError>(HasSubstr("step 0 uses 's' before it is bound")));
}

// The state doubles round by round, at most N times and while its first element is below 8; each round's is collected.
constexpr const char* doubling = R"(dim flag 0..1
dim round ..
b0 input bool [1] "flag"
b1 input float32 [1] "x"
b2 input int32 [N] "counted"
b3 temporary float32 [1] "state"
b4 temporary bool [] "goes on"
b5 output float32 [N] "collected"
b6 output float32 [1] "y"
inputs b0, b1, b2
outputs b5, b6
guard N >= 1 "node 'loop' (Loop): why" when flag
bind flag = b0
nest fill  axes i<N
  b5[i] = 0.0
nest begin  axes i<1
  b3[i] = b1[i]
nest begin
  b4[] = b3[0] < 8.0
loop round < N while b4 carries b3, b4
nest collect
  b5[round] = b3[0]
when flag
nest double  axes i<1
  b3[i] = b3[i] * 2.0
nest next
  b4[] = b3[0] < 8.0
end loop
nest end  axes i<1
  b6[i] = b3[i]
)";

TEST(ProgramParser, LoopsAndConditions) {
  Program program = parse_program(doubling);
  verify(program);
  EXPECT_EQ(to_string(program), doubling);
  Symbol n = *program.buffer(5).shape[0].as_symbol();
  auto run = [&](bool flag, float x, int64_t count) {
    std::vector<Tensor> inputs = {Tensor::of<uint8_t>(DType::boolean, {1}, {flag}),
                                  Tensor::of<float>(DType::float32, {1}, {x}), Tensor::zeros(DType::int32, {count})};
    std::vector<Tensor> outputs = interpret(program, {{n, count}}, inputs);
    std::vector<float> values(outputs[0].values<float>().begin(), outputs[0].values<float>().end());
    values.push_back(outputs[1].values<float>()[0]);
    return values;
  };
  EXPECT_THAT(run(true, 1, 2), ElementsAre(1, 2, 4));
  EXPECT_THAT(run(true, 1, 5), ElementsAre(1, 2, 4, 0, 0, 8));
  EXPECT_THAT(run(true, 9, 2), ElementsAre(0, 0, 9));
  EXPECT_THAT(run(true, 1, 0), ElementsAre(1));
  EXPECT_THAT(run(false, 1, 3), ElementsAre(1, 1, 1, 1));
}

TEST(ProgramParser, ALoopHasABeginningAndAnEnd) {
  Program open = parse_program(doubling), unopened = parse_program(doubling);
  std::erase_if(open.steps, [](const Step& step) { return std::holds_alternative<LoopEnd>(step.work); });
  EXPECT_THAT([&] { verify(open); }, ThrowsMessage<InternalError>(HasSubstr("a loop does not end")));
  std::erase_if(unopened.steps, [](const Step& step) { return std::holds_alternative<LoopBegin>(step.work); });
  EXPECT_THAT([&] { verify(unopened); }, ThrowsMessage<InternalError>(HasSubstr("a loop ends that did not begin")));
}

TEST(ProgramParser, TheRoundIsKnownInItsLoopAndAfterIt) {
  Program program = parse_program(doubling);
  std::swap(program.steps[4], program.steps[5]);  // the loop's beginning and what it collects
  EXPECT_THAT([&] { verify(program); },
              ThrowsMessage<InternalError>(HasSubstr("step 4 uses 'round' before it is bound")));
}

// Attention as it stands after all passes, and a kernel of everything that a call may have.
constexpr const char* kernels = R"(b0 input float32 [N, 6, 8] "q"
b1 input float32 [N, 8, 5] "k"
b2 input float32 [N, 5, 8] "v"
b3 input float32 [N, 6, 5] "mask"
b4 constant float32 [160] packed "weights"
b5 temporary float32 [N, 6, 8] "heads"
b6 temporary float32 [4*N] "scratch"
b7 output float32 [N, 6, 8] "y"
inputs b0, b1, b2, b3
outputs b7
# "scores" MatMul-13
kernel attention 8->5->8  b5 = b0, b1, b2
  inner epilogue [n<N, i<6, j<5] acc0 * 0.5 + b3[n, i, j]
  epilogue [n, i, j] acc0
when N
kernel rows, of 8  b7 = b5, b4 workspace b6 without views
  epilogue [n, i, j] max(acc0 + b0[n, i, j], 0.0)
)";

TEST(ProgramParser, Kernels) {
  const Program program = parse_program(kernels);
  verify(program);
  EXPECT_EQ(to_string(program), kernels);
  const auto& attention = std::get<KernelCall>(program.steps[0].work);
  EXPECT_EQ(attention.spec->describe(), "attention 8->5->8");
  EXPECT_TRUE(attention.spec->accepts_views());
  EXPECT_THAT(attention.inputs, ElementsAre(0, 1, 2));
  EXPECT_EQ(attention.inner_epilogue.axes[2].extent, Expr(5));
  EXPECT_EQ(attention.epilogue.axes[1].extent, Expr(6));
  EXPECT_THAT(reads(program.steps[0]), ElementsAre(0, 1, 2, 3));
  const auto& rows = std::get<KernelCall>(program.steps[1].work);
  EXPECT_FALSE(rows.spec->accepts_views());
  EXPECT_EQ(rows.workspace, 6);
}

// Fusion brings axes of one name together.
TEST(ProgramParser, AxesOfOneNameArePrintedApart) {
  Program program = parse_program(kernels);
  auto& rows = std::get<KernelCall>(program.steps[1].work);
  const Symbol i = Symbol::axis("N", 6), j = Symbol::axis("i", 8), n = *program.buffer(0).shape[0].as_symbol();
  const Symbol batch = Symbol::axis("i", n);
  rows.epilogue = {{{batch, n, AxisKind::parallel}, {i, 6, AxisKind::parallel}, {j, 8, AxisKind::parallel}},
                   scalar::accumulator(DType::float32, 0) * scalar::load(DType::float32, 0, {batch, i, j})};
  const std::string text = to_string(program);
  EXPECT_THAT(text, HasSubstr("  epilogue [i, N_1, i_1] acc0 * b0[i, N_1, i_1]\n"));
  EXPECT_EQ(to_string(parse_program(text)), text);
}

TEST(ProgramParser, NamesTheLine) {
  auto expect_error = [](const std::string& text, const char* message) {
    EXPECT_THAT([&] { parse_program(text); }, ThrowsMessage<UserError>(HasSubstr(message))) << text;
  };
  expect_error("b0 input float32 [N] \"x\"\nb2 input float32 [N] \"y\"\n", "line 2: the next number is expected");
  expect_error("b0 input float33 [N] \"x\"\n", "line 1: a dtype is expected");
  expect_error("b0 constant float32 [3] = {1, 2} \"x\"\n", "as many elements as the shape says");
  expect_error("nest n  axes i<N\n  b4[i] = 1.0\n  b0[i] = b1[i]\n", "b1 does not exist");
  expect_error("kernel conv  b0 = b1\n", "line 1: b0 does not exist");
  const std::string two = "b0 input float32 [N] \"x\"\nb1 output float32 [N] \"y\"\n";
  expect_error(two + "kernel conv  b1 = b2\n", "line 3: b2 does not exist");
  expect_error(two + "kernel conv  b1 = b0 epilogue\n", "line 3: the end of the line is expected at 'epilogue'");
  expect_error(two + "kernel conv  b1 = b0\n  epilogue [] acc0\n", "line 4: an axis for each of the output");
  expect_error(two + "kernel conv  b1 = b0\n  epilogue [i, j] acc0\n", "line 4: an axis for each of the output");
  expect_error(two + "kernel conv  b1 = b0\n  epilogue [i] acc1\n", "line 4: an accumulator of the nest");
  expect_error(two + "kernel conv  b1 = b0\n  inner epilogue [i] acc0\n", "line 4: '<' is expected");
  expect_error("b0 input float32 [N] view b1 [0] \"x\"\n", "b0 is laid over b1, which does not exist");
}

}  // namespace
}  // namespace onnxc
