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
host sort  b6 = b5, b4  [N, 3]
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
  program.steps.pop_back();  // the host call
  Symbol n = *program.buffer(0).shape[0].as_symbol();
  EXPECT_EQ(n.info().bounds, (Bounds{1, 8}));
  std::vector<Tensor> inputs = {Tensor::of<float>(DType::float32, {1, 3, 2}, {1, 2, 3, 4, 5, 6})};
  EXPECT_THAT(interpret(program, {{n, 1}}, inputs)[0].values<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 1.5, -3, 1.5, -3));
}

// y is laid out once the first element of k is known.
constexpr const char* run_time_size = R"(dim s ..
b0 input float32 [N] "x"
b1 input int32 [1] "k"
b2 output float32 [s] "y"
inputs b0, b1
outputs b2
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

TEST(ProgramParser, NamesTheLine) {
  auto expect_error = [](const std::string& text, const char* message) {
    EXPECT_THAT([&] { parse_program(text); }, ThrowsMessage<UserError>(HasSubstr(message))) << text;
  };
  expect_error("b0 input float32 [N] \"x\"\nb2 input float32 [N] \"y\"\n", "line 2: the next number is expected");
  expect_error("b0 input float33 [N] \"x\"\n", "line 1: a dtype is expected");
  expect_error("b0 constant float32 [3] = {1, 2} \"x\"\n", "as many elements as the shape says");
  expect_error("nest n  axes i<N\n  b4[i] = 1.0\n  b0[i] = b1[i]\n", "b1 does not exist");
  expect_error("kernel conv  b0 = b1\n", "no kernel call");
}

}  // namespace
}  // namespace onnxc
